#include "host/decide/absent_ranks.h"

#include <gtest/gtest.h>

namespace rtrain::decide {
namespace {

PlacedFacts placed(const char* host, uint64_t collectives) {
  PlacedFacts out{host, {}};
  out.facts.collectives = collectives;
  if (collectives > 0) {
    out.facts.calls.push_back(
        {.sequence = collectives, .operation = "barrier", .tensors = "", .line = "train.lua:7"});
  }
  return out;
}

TEST(AbsentRanks, ATimeOutNamesTheRanksOfOtherNodesThatAreBehind) {
  const std::vector<PlacedFacts> ranks{placed("n0", 5), placed("n0", 4), placed("n1", 4),
                                       placed("n1", 5), placed("n2", 0)};
  const Error error = with_absent_ranks(0, Error(Code::kTimeout, "waited 3 s"), ranks);
  EXPECT_EQ(error.code(), Code::kTimeout);
  EXPECT_EQ(error.message(),
            "waited 3 s; rank 2 on node n1 has not come to collective 5, its last one is "
            "collective 4, barrier() at train.lua:7; rank 4 on node n2 has not come to collective "
            "5: it has called none");
}

TEST(AbsentRanks, OneThatHasReturnedIsNamedAsThat) {
  std::vector<PlacedFacts> ranks{placed("n0", 5), placed("n1", 4)};
  ranks[1].facts.has_returned = true;
  EXPECT_EQ(with_absent_ranks(0, Error(Code::kTimeout, "waited"), ranks).message(),
            "waited; rank 1 on node n1 has not come to collective 5 and has returned from the "
            "train function");
}

TEST(AbsentRanks, OtherErrorsStayWhatTheyAre) {
  const std::vector<PlacedFacts> ranks{placed("n0", 5), placed("n1", 4)};
  EXPECT_EQ(with_absent_ranks(0, Error(Code::kUser, "mine"), ranks).message(), "mine");
  EXPECT_EQ(with_absent_ranks(1, Error(Code::kTimeout, "waited"), ranks).message(), "waited");
}

}  // namespace
}  // namespace rtrain::decide
