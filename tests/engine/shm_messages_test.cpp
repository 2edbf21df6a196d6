// Messages over shared memory. The ranks are threads, so that ThreadSanitizer checks them.
#include "host/engine/distributed/shm/messages.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <thread>

#include "host/base/error.h"

namespace rtrain::engine {
namespace {

constexpr std::chrono::seconds kTimeout{30};

void run_ranks(int num_ranks, const std::function<void(int, ShmMessages&, ShmSegment&)>& body,
               std::chrono::milliseconds timeout = kTimeout) {
  std::vector<std::shared_ptr<ShmSegment>> segments;
  segments.push_back(std::make_shared<ShmSegment>(ShmSegment::create(0, num_ranks)));
  for (int rank = 1; rank < num_ranks; ++rank) {
    segments.push_back(
        std::make_shared<ShmSegment>(ShmSegment::open(segments[0]->address(), rank, num_ranks)));
  }
  for (const auto& each : segments) each->seal({10, 11, 12});
  std::vector<std::thread> threads;
  for (int rank = 0; rank < num_ranks; ++rank) {
    threads.emplace_back([&, rank] {
      const auto& segment = segments[static_cast<size_t>(rank)];
      ShmMessages messages(segment, timeout);
      body(rank, messages, *segment);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

std::span<std::byte> bytes_of(std::string& text) {
  return std::as_writable_bytes(std::span(text.data(), text.size()));
}

void send(ShmMessages& messages, std::string text, int to, int tag = 0) {
  messages.wait(*messages.send(bytes_of(text), to, tag, nullptr));
}

std::string receive(ShmMessages& messages, size_t size, int from, int tag = 0) {
  std::string out(size, '?');
  messages.wait(*messages.receive(bytes_of(out), from, tag, nullptr));
  return out;
}

std::string pattern(size_t size, size_t seed) {
  std::string out(size, '\0');
  for (size_t i = 0; i < size; ++i) out[i] = static_cast<char>('a' + (i * 7 + i / 251 + seed) % 26);
  return out;
}

TEST(ShmMessages, ArriveWholeAndInOrderAtEverySize) {
  run_ranks(2, [](int rank, ShmMessages& messages, ShmSegment&) {
    size_t number = 0;
    for (const size_t size : {size_t{0}, size_t{1}, size_t{17}, size_t{4096}, size_t{262144},
                              size_t{262145}, size_t{1000003}}) {
      if (rank == 0) {
        send(messages, pattern(size, number), 1);
      } else {
        EXPECT_EQ(receive(messages, size, 0), pattern(size, number)) << size;
      }
      ++number;
    }
  });
}

TEST(ShmMessages, AReceiverChoosesByTag) {
  run_ranks(2, [](int rank, ShmMessages& messages, ShmSegment&) {
    if (rank == 0) {
      send(messages, "first", 1, 5);
      send(messages, "second", 1, 6);
      send(messages, "third", 1, 5);
      send(messages, pattern(500000, 1), 1, 7);
    } else {
      EXPECT_EQ(receive(messages, 6, 0, 6), "second");
      EXPECT_EQ(receive(messages, 5, 0, 5), "first");
      EXPECT_EQ(receive(messages, 500000, 0, 7), pattern(500000, 1));
      EXPECT_EQ(receive(messages, 5, 0, 5), "third");
    }
  });
}

TEST(ShmMessages, OfAnyRankSaysWhoHasSentIt) {
  run_ranks(3, [](int rank, ShmMessages& messages, ShmSegment&) {
    if (rank != 0) return send(messages, std::to_string(rank), 0);
    bool is_from[3] = {};
    for (int i = 0; i < 2; ++i) {
      std::string text(1, '?');
      const auto message = messages.receive(bytes_of(text), -1, 0, nullptr);
      messages.wait(*message);
      EXPECT_EQ(text, std::to_string(message->sender()));
      is_from[message->sender()] = true;
    }
    EXPECT_TRUE(is_from[1] && is_from[2]);
  });
}

// Each rank sends more than a ring holds before it receives: without a thread all ranks would
// block.
TEST(ShmMessages, MoveOnBesideOtherWork) {
  run_ranks(3, [](int rank, ShmMessages& messages, ShmSegment&) {
    std::vector<std::string> sent, received;
    std::vector<ShmMessages::MessagePtr> all;
    for (int other = 0; other < 3; ++other) {
      sent.push_back(pattern(1 << 20, static_cast<size_t>(3 * rank + other)));
      received.emplace_back(size_t{1} << 20, '?');
    }
    for (int other = 0; other < 3; ++other) {
      if (other != rank) all.push_back(messages.send(bytes_of(sent[other]), other, 0, nullptr));
      messages.move_on_thread();
    }
    for (int other = 0; other < 3; ++other) {
      if (other != rank)
        messages.wait(*messages.receive(bytes_of(received[other]), other, 0, nullptr));
    }
    for (const auto& each : all) messages.wait(*each);
    for (int other = 0; other < 3; ++other) {
      if (other == rank) continue;
      EXPECT_EQ(received[other], pattern(1 << 20, static_cast<size_t>(3 * other + rank)));
    }
  });
}

// Only the messages object keeps the message and its bytes alive.
TEST(ShmMessages, WhatNobodyHoldsArrives) {
  run_ranks(2, [](int rank, ShmMessages& messages, ShmSegment&) {
    if (rank == 1) {
      EXPECT_EQ(receive(messages, 1 << 20, 0), pattern(1 << 20, 5));
      return;
    }
    std::weak_ptr<std::string> watched;
    {
      const auto text = std::make_shared<std::string>(pattern(1 << 20, 5));
      watched = text;
      messages.send(bytes_of(*text), 1, 0, text);
      messages.move_on_thread();
    }
    for (int i = 0; i < 1000 && !watched.expired(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    EXPECT_TRUE(watched.expired()) << "the bytes are kept for no longer than the message";
  });
}

TEST(ShmMessages, ManyOfRandomSizesInBothDirections) {
  run_ranks(2, [](int rank, ShmMessages& messages, ShmSegment&) {
    std::mt19937 sizes(7);  // the same sizes on both ranks
    for (int i = 0; i < 2000; ++i) {
      const size_t size = sizes() % 3000;
      std::string sent = pattern(size, static_cast<size_t>(i + rank));
      const auto sending = messages.send(bytes_of(sent), 1 - rank, i % 3, nullptr);
      ASSERT_EQ(receive(messages, size, 1 - rank, i % 3),
                pattern(size, static_cast<size_t>(i + 1 - rank)));
      messages.wait(*sending);
    }
  });
}

TEST(ShmMessages, AnotherSizeIsAnErrorOfThatMessageAlone) {
  run_ranks(2, [](int rank, ShmMessages& messages, ShmSegment&) {
    if (rank == 0) {
      send(messages, "four", 1);
      send(messages, "right", 1);
      return;
    }
    try {
      receive(messages, 3, 0);
      FAIL() << "four bytes do not fit into three";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kArgument);
      EXPECT_NE(error.message().find("rank 10 has sent 4 bytes"), std::string::npos)
          << error.message();
    }
    EXPECT_EQ(receive(messages, 5, 0), "right");
  });
}

TEST(ShmMessages, WhatARankSentBeforeItLeftArrivesAndNothingElseIsWaitedFor) {
  run_ranks(2, [](int rank, ShmMessages& messages, ShmSegment& segment) {
    if (rank == 0) {
      send(messages, "last", 1);
      segment.leave();
      return;
    }
    EXPECT_EQ(receive(messages, 4, 0), "last");
    try {
      receive(messages, 4, 0);
      FAIL() << "rank 0 has left";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kPeerLost);
      EXPECT_NE(error.message().find("rank 10 has closed the group"), std::string::npos)
          << error.message();
    }
    EXPECT_THROW(send(messages, "more", 0), Error);
  });
}

TEST(ShmMessages, WhatNobodySendsIsATimeout) {
  run_ranks(
      2,
      [](int rank, ShmMessages& messages, ShmSegment&) {
        if (rank == 0) return;
        try {
          receive(messages, 4, 0);
          FAIL() << "nobody sends";
        } catch (const Error& error) {
          EXPECT_EQ(error.code(), Code::kTimeout) << error.message();
        }
      },
      std::chrono::milliseconds(200));
}

// Simulates a process that has overwritten the shared memory.
TEST(ShmMessages, CountersAndSizesThatCannotBeEndTheMessages) {
  enum class Damage { kWritten, kRead, kSize };
  for (const Damage damage : {Damage::kWritten, Damage::kRead, Damage::kSize}) {
    run_ranks(2, [&](int rank, ShmMessages& messages, ShmSegment& segment) {
      if (rank == 1) return;
      std::string out(100, 'x');
      std::span<std::byte> ring(segment.ring_bytes(1, 0), 16);
      std::memset(ring.data(), 0xff, ring.size());
      const uint32_t written = damage == Damage::kSize ? 16 : 0x80000000;
      if (damage == Damage::kRead) segment.ring(0, 1).read.value = 5;
      if (damage != Damage::kRead) segment.ring(1, 0).written.value = written;
      try {
        if (damage == Damage::kRead) {
          messages.wait(*messages.send(bytes_of(out), 1, 0, nullptr));
        } else {
          messages.wait(*messages.receive(bytes_of(out), 1, -1, nullptr));
        }
        FAIL() << "nothing of that can be";
      } catch (const Error& e) {
        EXPECT_EQ(e.code(), Code::kEnvironment);
        EXPECT_NE(e.message().find("rank 11 shows a "), std::string::npos) << e.message();
      }
    });
  }
}

TEST(ShmMessages, ClosingEndsWhatIsUnderWay) {
  run_ranks(2, [](int rank, ShmMessages& messages, ShmSegment&) {
    if (rank == 0) return;
    std::string text(4, '?');
    const auto message = messages.receive(bytes_of(text), 0, 0, nullptr);
    messages.move_on_thread();
    messages.close();
    EXPECT_THROW(messages.wait(*message), Error);
  });
}

}  // namespace
}  // namespace rtrain::engine
