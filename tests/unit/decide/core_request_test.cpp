#include "host/decide/core_request.h"

#include <gtest/gtest.h>

namespace rtrain::decide {
namespace {

TEST(CoreRequest, WorkersWithoutANumberOfCoresShareWhatIsThere) {
  const CoreRequest request(5, 5, 0);
  EXPECT_EQ(request.amount(2).min, 2);
  EXPECT_EQ(request.amount(2).max, 2);
  EXPECT_EQ(request.amount(64).max, 5);
  EXPECT_EQ(request.workers(2), 5);
  EXPECT_FALSE(request.impossible(1));
  EXPECT_TRUE(request.is_crowded(2));
  EXPECT_TRUE(request.is_crowded(0));
  EXPECT_FALSE(request.is_crowded(5));
}

TEST(CoreRequest, WorkersWithANumberOfCoresGetThem) {
  const CoreRequest request(2, 2, 4);
  EXPECT_EQ(request.amount(64).min, 8);
  EXPECT_EQ(request.amount(2).min, 8) << "it waits until they are offered";
  EXPECT_EQ(request.workers(8), 2);
  EXPECT_FALSE(request.is_crowded(1));
}

TEST(CoreRequest, AnElasticRunTakesWhatFitsItsRange) {
  const CoreRequest request(1, 4, 2);
  EXPECT_EQ(request.amount(64).min, 2);
  EXPECT_EQ(request.amount(64).max, 8);
  EXPECT_EQ(request.workers(2), 1);
  EXPECT_EQ(request.workers(7), 3) << "a core that is left over is not a worker";
  EXPECT_EQ(request.workers(100), 4);
}

// behaviour: a request that can never be met
TEST(CoreRequest, AnImpossibleRequestIsRefusedWithTheNumbers) {
  const auto fixed = CoreRequest(2, 2, 8).impossible(4);
  ASSERT_TRUE(fixed);
  EXPECT_EQ(exit_code(fixed->code()), 4);
  EXPECT_NE(fixed->message().find("2 workers of 8 cores need 16 cores, this node has 4"),
            std::string::npos);
  const auto elastic = CoreRequest(8, 9, 0).impossible(4);
  ASSERT_TRUE(elastic);
  EXPECT_NE(elastic->message().find("at least 8 workers of 1 core need 8 cores"),
            std::string::npos);
  EXPECT_FALSE(CoreRequest(2, 9, 2).impossible(4));
}

}  // namespace
}  // namespace rtrain::decide
