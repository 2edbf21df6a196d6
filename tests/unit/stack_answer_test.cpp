#include "host/train/watch/stack_answer.h"

#include <gtest/gtest.h>

#include "host/base/codec.h"
#include "host/base/error.h"
#include "host/loop/frame.h"

namespace rtrain {
namespace {

List stacks_of(int num_ranks, size_t bytes_each) {
  List out;
  for (int rank = 0; rank < num_ranks; ++rank) {
    List frames{std::string(bytes_each, 'f')};
    List threads{Map{{"name", "main"}, {"tid", 1}, {"frames", std::move(frames)}}};
    out.push_back(Map{{"rank", rank},
                      {"pid", 100 + rank},
                      {"state", "busy"},
                      {"lua", List{"train.lua:7"}},
                      {"threads", std::move(threads)},
                      {"collectives", List{}}});
  }
  return out;
}

TEST(StackAnswer, GivesTheRankThatIsAskedForWithItsPhase) {
  std::vector<RankState> ranks(2);
  ranks[1].phase = Phase::kRunning;
  const List answer = stack_answer(1, stacks_of(2, 10), ranks);
  ASSERT_EQ(answer.size(), 1u);
  EXPECT_EQ(answer[0]["rank"].as_int(), 1);
  EXPECT_EQ(answer[0]["phase"].as_string(), "running");
  EXPECT_EQ(answer[0]["threads"].as_list().size(), 1u);
}

TEST(StackAnswer, RankThatTheGroupLacksIsAnError) {
  EXPECT_EQ(asked_rank(Map{{"op", "stack"}}, 2), std::nullopt);
  EXPECT_EQ(asked_rank(Map{{"rank", 1}}, 2), 1);
  for (const int rank : {-1, 2}) EXPECT_THROW(asked_rank(Map{{"rank", rank}}, 2), Error);
}

TEST(StackAnswer, ThreadsThatNoMessageHoldsAreLeftOut) {
  const List answer = stack_answer({}, stacks_of(8, size_t{300} << 10), {});
  ASSERT_EQ(answer.size(), 8u);
  EXPECT_EQ(answer[0]["threads"].as_list().size(), 1u);
  EXPECT_TRUE(answer[7]["threads"].as_list().empty());
  EXPECT_TRUE(answer[7]["threads_left_out"].as_bool());
  EXPECT_EQ(answer[7]["lua"].as_list().size(), 1u);
  EXPECT_LT(encode(Value(answer)).size(), kMaxFrameBytes);
}

}  // namespace
}  // namespace rtrain
