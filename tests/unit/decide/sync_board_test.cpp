#include "host/decide/sync_board.h"

#include <gtest/gtest.h>

namespace rtrain::decide {
namespace {

constexpr const char* kBarrier = "train.collective.barrier()";
constexpr const char* kBroadcast = "train.collective.broadcast_from_rank_zero()";

SyncArrival arrival(int rank, int world_size, int64_t sequence = 1,
                    const std::string& collective = kBroadcast) {
  return {rank, 100 + rank, sequence, world_size, collective, "train.lua:7", std::to_string(rank)};
}

std::string error_of(const std::vector<SyncBoard::Answer>& answers) {
  if (answers.empty() || !answers.front().error) return "";
  return answers.front().error->message();
}

void expect_contains(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << text << "\n  lacks: " << part;
}

// behaviour: broadcast to 1, 10, 1,000 ranks
TEST(SyncBoard, BroadcastReachesAnyNumberOfRanksAndTheStateResets) {
  for (const int size : {1, 10, 1000}) {
    SyncBoard board(size, {});
    for (int64_t sequence = 1; sequence <= 3; ++sequence) {
      // The last rank arrives first: the others need not wait for rank 0.
      for (int rank = size - 1; rank > 0; --rank) {
        EXPECT_TRUE(board.arrive(arrival(rank, size, sequence), 0).empty());
      }
      const auto answers = board.arrive(arrival(0, size, sequence), 0);
      ASSERT_EQ(answers.size(), static_cast<size_t>(size));
      for (int rank = 0; rank < size; ++rank) {
        const auto& answer = answers[static_cast<size_t>(rank)];
        EXPECT_EQ(answer.rank, rank);
        EXPECT_EQ(answer.id, 100 + rank);
        EXPECT_EQ(answer.data, "0");
        EXPECT_FALSE(answer.error);
      }
      EXPECT_FALSE(board.next_due());
    }
  }
}

// behaviour: nine of ten ranks arrive: the last is named
TEST(SyncBoard, TheTimeOutNamesTheMissingRankAndTheSetting) {
  SyncBoard board(10, {.timeout_s = 20, .warn_interval_s = 60});
  for (int rank = 0; rank < 9; ++rank) board.arrive(arrival(rank, 10), rank);
  EXPECT_EQ(board.next_due(), 20);
  EXPECT_TRUE(board.expire(19.9).empty());
  const auto answers = board.expire(20);
  ASSERT_EQ(answers.size(), 9U);
  EXPECT_EQ(answers.front().error->code(), Code::kTimeout);
  expect_contains(error_of(answers), "for rank 9 for 20 s");
  expect_contains(error_of(answers), "train.lua:7");
  expect_contains(error_of(answers), "TorchConfig.timeout_s");
  EXPECT_FALSE(board.next_due());
}

TEST(SyncBoard, ADeadlineBeginsAnewWhileSomethingMoves) {
  SyncBoard board(2, {.timeout_s = 20, .warn_interval_s = 60});
  board.arrive(arrival(0, 2), 0);
  board.postpone(19);
  EXPECT_EQ(board.next_due(), 39);
  EXPECT_TRUE(board.expire(38).empty());
  expect_contains(error_of(board.expire(39)), "for rank 1 for 39 s");
  board.arrive(arrival(0, 2, 2), 100);
  EXPECT_EQ(board.next_due(), 120) << "of another meeting";
}

// behaviour: different world sizes
TEST(SyncBoard, AnotherWorldSizeIsAnError) {
  SyncBoard board(2, {});
  const auto answers = board.arrive(arrival(0, 3), 0);
  ASSERT_EQ(answers.size(), 1U);
  expect_contains(error_of(answers), "one of 3 workers, it has 2");
  EXPECT_FALSE(board.next_due());
}

// behaviour: missing ranks are named again and again
TEST(SyncBoard, MissingRanksAreWarnedAboutPeriodically) {
  SyncBoard board(4, {.timeout_s = 1000, .warn_interval_s = 60});
  board.arrive(arrival(1, 4), 0);
  board.arrive(arrival(2, 4), 30);
  EXPECT_FALSE(board.warning(59));
  EXPECT_EQ(board.next_due(), 60);
  const auto first = board.warning(60);
  ASSERT_TRUE(first);
  expect_contains(*first, "ranks 1, 2 wait in train.collective.broadcast_from_rank_zero()");
  expect_contains(*first, "at train.lua:7");
  expect_contains(*first, "for ranks 0, 3 for 60 s");
  EXPECT_FALSE(board.warning(61));
  EXPECT_TRUE(board.warning(120));
}

TEST(SyncBoard, DifferentCollectivesAreNamedToAllWhoAreThere) {
  SyncBoard board(3, {});
  board.arrive(arrival(0, 3, 5, kBarrier), 0);
  const auto answers = board.arrive(arrival(2, 3, 5, kBroadcast), 0);
  ASSERT_EQ(answers.size(), 2U);
  EXPECT_EQ(answers.front().error->code(), Code::kUser);
  expect_contains(error_of(answers),
                  "rank 0 in train.collective.barrier() at train.lua:7, its number 5");
  expect_contains(error_of(answers), "rank 2 in train.collective.broadcast_from_rank_zero()");
}

TEST(SyncBoard, ARankThatLeftOneOutIsNamed) {
  SyncBoard board(2, {});
  board.arrive(arrival(0, 2, 2), 0);
  expect_contains(error_of(board.arrive(arrival(1, 2, 1), 0)), "its number 1");
}

TEST(SyncBoard, NobodyWaitsForARankThatHasReturned) {
  SyncBoard board(3, {});
  board.arrive(arrival(0, 3), 0);
  const auto answers = board.leave(2);
  ASSERT_EQ(answers.size(), 1U);
  expect_contains(error_of(answers), "for rank 2, which has already returned");
  expect_contains(error_of(board.arrive(arrival(1, 3), 0)),
                  "for rank 2, which has already returned");
}

TEST(SyncBoard, TwoThreadsOfARankAreRefused) {
  SyncBoard board(2, {});
  board.arrive(arrival(0, 2), 0);
  expect_contains(error_of(board.arrive(arrival(0, 2), 0)), "another thread of rank 0");
  EXPECT_TRUE(board.next_due());
}

TEST(SyncBoard, ManyMissingRanksAreCounted) {
  SyncBoard board(100, {.timeout_s = 1, .warn_interval_s = 60});
  board.arrive(arrival(0, 100), 0);
  expect_contains(error_of(board.expire(1)), "19, 20 and 79 more");
}

}  // namespace
}  // namespace rtrain::decide
