#include "host/wire/link.h"

#include <gtest/gtest.h>

#include "host/base/error.h"
#include "tests/unit/run_until.h"
#include "tests/unit/wire_ends.h"

namespace rtrain::wire {
namespace {

using Frames = std::vector<std::string>;

class LinkTest : public ::testing::Test {
 protected:
  void connect() {
    client_.emplace(loop_, client_options(contact_of(server_.server, secret_)));
    run_until(loop_, [this] { return client_->record.num_connected == 1; });
  }
  LinkRecord& far_record() { return server_.at("a").record; }
  Link& far() { return server_.at("a").link; }
  Link& near() { return client_->link(); }
  // Waits until the other side has acknowledged this many of the link's frames.
  void run_until_acknowledged(const Link& link, int64_t num_frames) {
    run_until(loop_, [&] { return link.position().first > num_frames; });
  }

  loop::Loop loop_;
  Secret secret_ = Secret::generate();
  ServerEnd server_{loop_, server_options(secret_)};
  std::optional<ClientEnd> client_;
};

TEST_F(LinkTest, FramesGoBothWaysInOrder) {
  connect();
  near().send("one");
  near().send("");
  near().send(std::string(kMaxPayloadBytes, 'x'));
  far().send("back");
  run_until(loop_, [this] { return far_record().frames.size() == 3; });
  EXPECT_EQ(far_record().frames, (Frames{"one", "", std::string(kMaxPayloadBytes, 'x')}));
  run_until(loop_, [this] { return client_->record.frames == Frames{"back"}; });
  EXPECT_EQ(server_.peers.at(0).role, "agent");
  EXPECT_EQ(server_.peers.at(0).run_id, "run-1");
  EXPECT_EQ(server_.abouts.at(0), "about");
  EXPECT_EQ(near().near().host(), "127.0.0.1");
}

TEST_F(LinkTest, WhatIsSentBeforeAConnectionArrivesWithIt) {
  client_.emplace(loop_, client_options(contact_of(server_.server, secret_)));
  for (int i = 0; i < 1000; ++i) near().send(std::to_string(i));
  run_until(loop_, [this] { return client_->record.num_connected == 1; });
  run_until(loop_, [this] { return far_record().frames.size() == 1000; });
  EXPECT_EQ(far_record().frames[999], "999");
}

TEST_F(LinkTest, FinishEndsBothSidesWhenAllHasArrived) {
  connect();
  for (int i = 0; i < 100; ++i) near().send(std::string(100000, 'x'));
  std::optional<uint64_t> left;
  near().finish(std::chrono::seconds(20), [&](uint64_t count) { left = count; });
  run_until(loop_, [&] { return left && far_record().end; });
  EXPECT_EQ(left, 0U);
  EXPECT_EQ(far_record().frames.size(), 100U);
  EXPECT_EQ(far_record().end->kind, LinkEnd::Kind::kFinished);
  EXPECT_TRUE(near().is_closed());
  EXPECT_TRUE(far().is_closed());
}

TEST_F(LinkTest, BothSidesMayFinishAtOnce) {
  connect();
  std::vector<uint64_t> left;
  for (int i = 0; i < 100; ++i) {
    near().send(std::string(10000, 'x'));
    far().send(std::string(10000, 'y'));
  }
  near().finish(std::chrono::seconds(20), [&](uint64_t count) { left.push_back(count); });
  far().finish(std::chrono::seconds(20), [&](uint64_t count) { left.push_back(count); });
  run_until(loop_, [&] { return left.size() == 2; });
  EXPECT_EQ(left, (std::vector<uint64_t>{0, 0}));
  EXPECT_EQ(far_record().frames.size(), 100U);
  EXPECT_EQ(client_->record.frames.size(), 100U);
  EXPECT_FALSE(client_->record.end || far_record().end);
}

TEST_F(LinkTest, FinishTellsWhatWasNotAcknowledgedAtItsDeadline) {
  connect();
  server_.server.close();
  far().close();
  run_until(loop_, [this] { return !near().is_connected(); });
  near().send("one");
  near().send("two");
  std::optional<uint64_t> left;
  near().finish(std::chrono::milliseconds(20), [&](uint64_t count) { left = count; });
  run_until(loop_, [&] { return left.has_value(); });
  EXPECT_EQ(left, 2U);
  EXPECT_TRUE(near().is_closed());
  near().send("three");
}

// The server refuses the link when the client returns to confirm that everything has arrived.
TEST_F(LinkTest, FinishNeedsNoAnswerWhenAllIsAcknowledged) {
  connect();
  near().send("one");
  run_until(loop_, [this] { return far_record().frames.size() == 1; });
  run_until_acknowledged(near(), 1);
  server_.refusal = "it is over";
  far().close();
  std::optional<uint64_t> left;
  near().finish(std::chrono::seconds(20), [&](uint64_t count) { left = count; });
  run_until(loop_, [&] { return left.has_value(); });
  EXPECT_EQ(left, 0U);
}

TEST_F(LinkTest, AClosedConnectionIsOpenedAgainAndNamed) {
  connect();
  server_.links.clear();
  run_until(loop_, [this] { return client_->record.num_connected == 2; });
  EXPECT_EQ(client_->record.disconnections,
            std::vector<std::string>{"the other side closed the connection"});
}

TEST_F(LinkTest, ANewProcessAtTheOtherEndIsNoticedAndGetsWhatTheOldOneDidNot) {
  connect();
  far().send("for the old one");
  run_until(loop_, [this] { return client_->record.frames.size() == 1; });
  run_until_acknowledged(far(), 1);
  client_->client.close();
  run_until(loop_, [this] { return !far().is_connected(); });
  far().send("for any");
  client_.reset();
  connect();
  EXPECT_EQ(far_record().num_restarts, 1);
  near().send("hello");
  run_until(loop_, [this] { return far_record().frames == Frames{"hello"}; });
  run_until(loop_, [this] { return client_->record.frames == Frames{"for any"}; });

  // The same test with the roles exchanged.
  run_until_acknowledged(far(), 2);
  run_until_acknowledged(near(), 1);
  server_.links.clear();
  near().send("for any server");
  run_until(loop_, [this] { return client_->record.num_connected == 2; });
  EXPECT_EQ(client_->record.num_restarts, 1);
  run_until(loop_, [this] { return far_record().frames == Frames{"for any server"}; });
  EXPECT_EQ(far_record().num_restarts, 0);
}

TEST(LinkPositionTest, ItTravelsAsAWhole) {
  LinkHello hello;
  hello.link = "a";
  hello.position = {.stream = "0123456789abcdef",
                    .first = 6,
                    .peer_stream = "fedcba9876543210",
                    .received = 3,
                    .dropped = 5};
  EXPECT_EQ(LinkHello::decode(hello.encode()).position, hello.position);
}

// Drops the frames that were meant for the previous process.
struct Dropping : LinkRecord {
  void on_peer_restarted() override { link->drop_unacknowledged(); }
  Link* link = nullptr;
};

TEST_F(LinkTest, WhatWasForTheOldProcessCanBeDropped) {
  Dropping record;
  WireClientOptions options = client_options(contact_of(server_.server, secret_));
  WireClient client(loop_, options, record);
  record.link = &client.link();
  run_until(loop_, [&] { return record.num_connected == 1; });
  server_.links.clear();
  run_until(loop_, [&] { return !client.link().is_connected(); });
  client.link().send("old");
  run_until(loop_, [&] { return record.num_connected == 2; });
  client.link().send("new");
  run_until(loop_, [&] { return !far_record().frames.empty(); });
  EXPECT_EQ(far_record().frames, Frames{"new"});
}

TEST_F(LinkTest, WhatIsDroppedMidwayLeavesTheRestInOrder) {
  connect();
  for (int i = 0; i < 50; ++i) near().send(std::string(100000, 'x'));
  run_until(loop_, [this] { return !far_record().frames.empty(); });
  near().drop_unacknowledged();
  near().send("behind");
  run_until(loop_, [this] { return far_record().frames.back() == "behind"; });
  EXPECT_LE(far_record().frames.size(), 51U);
  server_.links.at("a")->link.close();
  near().send("lost with the old server");
  near().drop_unacknowledged();
  server_.links.clear();
  near().send("last");
  run_until(loop_, [this] {
    return server_.links.count("a") != 0 && far_record().frames == Frames{"last"};
  });
}

TEST_F(LinkTest, AFullLinkSaysSoAndIsNotFullAfterwards) {
  WireClientOptions options = client_options({});
  std::optional<WireContact> contact;
  options.find = [&](std::string&) { return contact; };
  options.first_backoff = options.longest_backoff = std::chrono::milliseconds(1);
  options.link_options.memory_bytes = 10000;
  client_.emplace(loop_, options);
  for (int i = 0; i < 20; ++i) near().send(std::string(1000, 'x'));
  EXPECT_TRUE(near().is_full());
  EXPECT_NE(near().full_reason(), "");
  contact = contact_of(server_.server, secret_);
  run_until(loop_, [this] { return !near().is_full(); });
  EXPECT_EQ(client_->record.full, (std::vector<bool>{true, false}));
  run_until(loop_, [this] { return far_record().frames.size() == 20; });
}

TEST_F(LinkTest, AFrameAboveTheLimitIsRefused) {
  connect();
  EXPECT_THROW(near().send(std::string(kMaxPayloadBytes + 1, 'x')), Error);
  near().send("after");
  run_until(loop_, [this] { return far_record().frames == Frames{"after"}; });
}

TEST_F(LinkTest, SilenceIsMeasuredFromWhatWasHeardLast) {
  connect();
  EXPECT_LT(near().silent_s(), 10);
  far().close();
  server_.server.close();
  run_until(loop_, [this] { return near().silent_s() > 0.05; });
}

}  // namespace
}  // namespace rtrain::wire
