#include "host/loop/channel/channel.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <optional>
#include <thread>

#include "host/base/codec/codec.h"
#include "host/base/error.h"
#include "host/loop/channel/frame.h"

namespace rtrain::loop {
namespace {

TEST(Frame, BodiesComeBackWhateverThePieces) {
  const std::string stream = to_frame("one") + to_frame("") + to_frame(std::string(70000, 'x'));
  for (const size_t piece : {size_t{1}, size_t{3}, size_t{4096}, stream.size()}) {
    FrameReader reader;
    std::vector<std::string> bodies;
    for (size_t at = 0; at < stream.size(); at += piece) {
      reader.add(std::string_view(stream).substr(at, piece));
      while (auto body = reader.next()) bodies.push_back(*body);
    }
    ASSERT_EQ(bodies.size(), 3U);
    EXPECT_EQ(bodies[0], "one");
    EXPECT_EQ(bodies[1], "");
    EXPECT_EQ(bodies[2].size(), 70000U);
    EXPECT_EQ(reader.pending(), 0U);
  }
}

TEST(Frame, TooLongIsRefusedOnBothSides) {
  EXPECT_THROW(to_frame(std::string(kMaxFrameBytes + 1, 'x')), Error);
  FrameReader reader;
  reader.add("\xff\xff\xff\xff");
  EXPECT_THROW(reader.next(), Error);
}

// A channel on a loop in this thread, and the bare socket of its other end.
class ChannelTest : public ::testing::Test {
 protected:
  ChannelTest() {
    const SocketPair sockets = make_socket_pair();
    other_ = sockets.far;
    channel_.emplace(
        loop_, sockets.near,
        [this](const Value& message) {
          received_.push_back(message);
          if (answers_) write_other(to_frame(encode(message)));
          if (received_.size() == expected_) loop_.stop();
        },
        [this](const std::string& reason) {
          closed_ = reason;
          loop_.stop();
        });
  }
  ~ChannelTest() override {
    channel_.reset();
    if (other_ >= 0) ::close(other_);
  }
  void write_other(const std::string& bytes) {
    ASSERT_EQ(::send(other_, bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  void close_other() { ::close(std::exchange(other_, -1)); }

  Loop loop_;
  std::optional<Channel> channel_;
  int other_ = -1;
  size_t expected_ = 0;
  bool answers_ = false;  // the other end answers each message
  std::vector<Value> received_;
  std::optional<std::string> closed_;
};

TEST_F(ChannelTest, DeliversMessagesInOrder) {
  expected_ = 2;
  write_other(to_frame(encode(Map{{"n", 1}})) + to_frame(encode(Map{{"n", 2}})));
  loop_.run();
  ASSERT_EQ(received_.size(), 2U);
  EXPECT_EQ(received_[1]["n"], Value(2));
}

TEST_F(ChannelTest, WhatWasSentBeforeTheEndIsDelivered) {
  write_other(to_frame(encode(Value("last words"))));
  close_other();
  loop_.run();
  ASSERT_EQ(received_.size(), 1U);
  EXPECT_EQ(closed_, "");
  EXPECT_FALSE(channel_->send(Value(1)));
}

TEST_F(ChannelTest, BytesThatAreNoMessageCloseItWithTheReason) {
  write_other(to_frame("\xc1 not MessagePack"));
  loop_.run();
  ASSERT_TRUE(closed_);
  EXPECT_NE(*closed_, "");
}

TEST_F(ChannelTest, DrainReadsWithoutRunningTheLoop) {
  write_other(to_frame(encode(Value(7))));
  channel_->drain();
  ASSERT_EQ(received_.size(), 1U);
  channel_->close();
  channel_->close();
  channel_->drain();
}

TEST_F(ChannelTest, AnEndThatSendsForEverLeavesTheLoopItsOtherWork) {
  answers_ = true;
  write_other(to_frame(encode(Value(std::string(1000, 'x')))));
  channel_->drain();
  EXPECT_GE(received_.size(), 1U);
  loop_.post([this] { loop_.stop(); });
  loop_.run();
}

// Sends far more than a socket buffer holds, from several threads: no message is lost, torn or out
// of order.
TEST_F(ChannelTest, ManyThreadsMaySendWhileTheOtherEndIsSlow) {
  constexpr int kThreads = 4;
  constexpr int kMessages = 200;
  const std::string padding(5000, 'p');
  std::thread control([this] { loop_.run(); });
  std::vector<std::thread> senders;
  for (int thread = 0; thread < kThreads; ++thread) {
    senders.emplace_back([&, thread] {
      for (int n = 0; n < kMessages; ++n) {
        channel_->send(Map{{"thread", thread}, {"n", n}, {"padding", padding}});
      }
    });
  }
  std::vector<int> next(kThreads);
  FrameReader frames;
  std::array<char, 65536> buffer;
  for (int total = 0; total < kThreads * kMessages;) {
    const ssize_t n = ::recv(other_, buffer.data(), buffer.size(), 0);
    ASSERT_GT(n, 0);
    frames.add({buffer.data(), static_cast<size_t>(n)});
    while (auto body = frames.next()) {
      const Value message = decode(*body);
      EXPECT_EQ(message["n"].as_int(), next[static_cast<size_t>(message["thread"].as_int())]++);
      ++total;
    }
  }
  for (std::thread& sender : senders) sender.join();
  EXPECT_EQ(channel_->flush(std::chrono::seconds(10)), Channel::Flushed::kAll);
  loop_.post([this] { loop_.stop(); });
  control.join();
}

TEST_F(ChannelTest, FlushEndsWhenTheOtherEndGoes) {
  std::thread control([this] { loop_.run(); });
  while (channel_->send(Value(std::string(100000, 'x')))) {
    if (channel_->flush(std::chrono::milliseconds(1)) != Channel::Flushed::kAll)
      break;  // the socket's buffer is full
  }
  auto flushed =
      std::async(std::launch::async, [this] { return channel_->flush(std::chrono::seconds(30)); });
  close_other();
  EXPECT_EQ(flushed.get(), Channel::Flushed::kClosed);
  control.join();
}

}  // namespace
}  // namespace rtrain::loop
