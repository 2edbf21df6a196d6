// Reading progress pages that a worker has overwritten stays within bounds.
#include "host/decide/rank_facts.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <random>

#include "host/base/clock.h"
#include "host/node/workers/last_moments.h"
#include "host/node/workers/page_facts.h"
#include "host/pages/progress_board.h"

namespace rtrain::node {
namespace {

constexpr size_t kMostCalls = 9;  // the latest eight calls and the device's call

void expect_bounds(const pages::ProgressPage& page) {
  const decide::RankFacts facts = read_facts(page, getpid());
  const double now_s = monotonic_s();
  EXPECT_LE(facts.calls.size(), kMostCalls);
  for (const decide::CollectiveFacts& call : facts.calls) EXPECT_LE(call.time_s, now_s);
  EXPECT_LE(facts.beat_s, now_s);
  if (facts.device) {
    EXPECT_LE(facts.device->since_s, now_s);
  }
  if (facts.wait) {
    EXPECT_LE(facts.wait->kind, kLastOf<WaitKind>);
    EXPECT_LE(facts.wait->since_s, now_s);
    EXPECT_LE(facts.wait->frames.size(), size_t{pages::kPageFrames});
  }
  const LastMoments last = read_last_moments(page.crash);
  EXPECT_LE(last.native.size(), size_t{pages::kNativeFrames});
}

TEST(RankFacts, APageOfAnyBytesIsReadInBounds) {
  pages::ProgressBoard board(1);
  pages::ProgressPage& page = board.page(0);
  std::mt19937_64 random(1);
  for (int round = 0; round < 200; ++round) {
    auto* bytes = reinterpret_cast<unsigned char*>(&page);
    for (size_t i = 0; i < sizeof(page); ++i) {
      bytes[i] = round == 0 ? 0xff : static_cast<unsigned char>(random());
    }
    expect_bounds(page);
    // Cells that look completely written.
    page.collectives = round % 2 == 0 ? UINT64_MAX : random() % 3;
    page.blocked.update([&](pages::BlockedCall& call) {
      std::memset(static_cast<void*>(&call), static_cast<int>(random() % 256), sizeof(call));
      call.depth = 1;
    });
    page.device.write({random(), 1e300});
    expect_bounds(page);
  }
}

TEST(RankFacts, TheTimesOfAnotherProcessAreItsClocks) {
  pages::ProgressBoard board(1);
  pages::ProgressPage& page = board.page(0);
  EXPECT_FALSE(read_facts(page, getpid()).times) << "the train function has not begun";
  PhaseClock clock(&page.phases);
  const int depth = clock.enter(TrainPhase::kOptimizer);
  const double begun_s = monotonic_s();
  while (monotonic_s() - begun_s < 0.02) {
  }
  clock.leave(depth);
  clock.enter(TrainPhase::kData);
  page.bytes = 7;
  const auto times = read_facts(page, getpid()).times;
  ASSERT_TRUE(times);
  EXPECT_EQ(times->steps, 1U);
  EXPECT_EQ(times->saved_bytes, 7U);
  EXPECT_NEAR(times->compute_s, clock.seconds()[static_cast<size_t>(TrainPhase::kOptimizer)], 1e-3);
  EXPECT_GE(times->compute_s, 0.0199);
  const int saves = clock.enter(TrainPhase::kCheckpoint);
  const double saves_s = monotonic_s();
  while (monotonic_s() - saves_s < 0.02) {
  }
  clock.leave(saves);
  page.report_wait_s = 0.015;
  const auto waited = read_facts(page, getpid()).times;
  ASSERT_TRUE(waited);
  EXPECT_NEAR(waited->communication_s, 0.015, 1e-9) << "for the others' reports";
  EXPECT_GE(waited->checkpoint_s, 0.0049);
  EXPECT_LT(waited->checkpoint_s, clock.seconds()[static_cast<size_t>(TrainPhase::kCheckpoint)]);
  page.phases.begun_s = -1e300;  // a damaged page
  EXPECT_FALSE(read_facts(page, getpid()).times);
}

TEST(RankFacts, ConnectionsToOtherNodesAreThoseThatWereLookedAt) {
  pages::ProgressBoard board(1);
  pages::ProgressPage& page = board.page(0);
  EXPECT_TRUE(read_facts(page, getpid()).links.empty());
  page.links[0].update([](pages::LinkCounts& counts) {
    counts.own.set("10.0.0.1");
    counts.peer.set("10.0.0.2");
    counts.bytes = 5;
    counts.looks = 3;
    counts.waits = 2;
  });
  const auto links = read_facts(page, getpid()).links;
  ASSERT_EQ(links.size(), 1U);
  EXPECT_EQ(links[0].own, "10.0.0.1");
  EXPECT_EQ(links[0].peer, "10.0.0.2");
  EXPECT_EQ(links[0].bytes, 5U);
  EXPECT_EQ(links[0].looks, 3U);
  EXPECT_EQ(links[0].waits, 2U);
}

TEST(RankFacts, TheLatestCallsAreInTheirOrder) {
  pages::ProgressBoard board(1);
  pages::ProgressPage& page = board.page(0);
  for (uint64_t sequence = 1; sequence <= 10; ++sequence) {
    pages::CollectiveCall call;
    call.sequence = sequence;
    page.calls[sequence % pages::ProgressPage::kCollectives].write(call);
    page.collectives = sequence;
    const auto calls = read_facts(page, getpid()).calls;
    ASSERT_EQ(calls.size(), std::min(sequence, uint64_t{8}));
    EXPECT_EQ(calls.back().sequence, sequence);
    EXPECT_EQ(calls.front().sequence, sequence - calls.size() + 1);
  }
}

}  // namespace
}  // namespace rtrain::node
