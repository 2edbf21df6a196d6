#include "host/node/workers/last_moments.h"

#include <gtest/gtest.h>

#include <climits>

namespace rtrain::node {
namespace {

TEST(LastMoments, AreWhatThePageHolds) {
  pages::Crash crash;
  crash.signal = 11;
  crash.lua[0].set("train.lua:7");
  crash.num_lua = 1;
  const LastMoments found = read_last_moments(crash);
  EXPECT_EQ(found.signal, 11);
  EXPECT_EQ(found.lua, std::vector<std::string>{"train.lua:7"});
  EXPECT_TRUE(found.native.empty());
}

TEST(LastMoments, APageThatItsWorkerHasWrittenOverIsReadNoFurther) {
  pages::Crash crash;
  for (const int count : {INT_MAX, INT_MIN}) {
    crash.num_lua = crash.num_native = count;
    const LastMoments found = read_last_moments(crash);
    EXPECT_EQ(found.lua.size(), count > 0 ? crash.lua.size() : 0);
    EXPECT_EQ(found.native.size(), count > 0 ? crash.native.size() : 0);
  }
}

}  // namespace
}  // namespace rtrain::node
