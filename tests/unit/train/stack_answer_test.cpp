#include "host/train/watch/stack_answer.h"

#include <gtest/gtest.h>

#include "host/base/codec/codec.h"
#include "host/base/error.h"
#include "host/loop/channel/frame.h"

namespace rtrain::train {
namespace {

std::vector<loop::RankStack> stacks_of(int num_ranks, size_t bytes_each) {
  std::vector<loop::RankStack> out;
  for (int rank = 0; rank < num_ranks; ++rank) {
    out.push_back(
        {.rank = rank,
         .pid = 100 + rank,
         .state = "busy",
         .lua = {"train.lua:7"},
         .threads = {{.name = "main", .tid = 1, .frames = {std::string(bytes_each, 'f')}}},
         .collectives = {}});
  }
  return out;
}

TEST(StackAnswer, GivesTheRankThatIsAskedForWithItsPhase) {
  std::vector<decide::RankState> ranks(2);
  ranks[1].phase = decide::Phase::kRunning;
  const auto answer = stack_answer(1, stacks_of(2, 10), ranks);
  ASSERT_EQ(answer.size(), 1u);
  EXPECT_EQ(answer[0].rank, 1);
  EXPECT_EQ(answer[0].phase, "running");
  EXPECT_EQ(answer[0].threads.size(), 1u);
}

TEST(StackAnswer, RankThatTheGroupLacksIsAnError) {
  EXPECT_NO_THROW(check_asked_rank({}, 2));
  EXPECT_NO_THROW(check_asked_rank(1, 2));
  for (const int rank : {-1, 2}) EXPECT_THROW(check_asked_rank(rank, 2), Error);
}

TEST(StackAnswer, ThreadsThatNoMessageHoldsAreLeftOut) {
  const auto answer = stack_answer({}, stacks_of(8, size_t{300} << 10), {});
  ASSERT_EQ(answer.size(), 8u);
  EXPECT_EQ(answer[0].threads.size(), 1u);
  EXPECT_TRUE(answer[7].threads.empty());
  EXPECT_TRUE(answer[7].threads_left_out);
  EXPECT_EQ(answer[7].lua.size(), 1u);
  const message::Stacks message{.attempt = 1, .state = "RUNNING", .ranks = answer};
  EXPECT_LT(encode(to_value(message)).size(), loop::kMaxFrameBytes);
}

}  // namespace
}  // namespace rtrain::train
