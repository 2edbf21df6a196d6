#include "host/base/background_thread.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

namespace rtrain {
namespace {

int niceness() { return getpriority(PRIO_PROCESS, static_cast<id_t>(gettid())); }

int num_processors() {
  cpu_set_t mask;
  return sched_getaffinity(0, sizeof mask, &mask) == 0 ? CPU_COUNT(&mask) : 0;
}

TEST(BackgroundThread, GivesWayAndLeavesTheProcessorsOfItsRank) {
  const int own = num_processors();
  use_processors_of(getpid());
  int bound = 0, freed = 0, before = 0, after = 0;
  std::thread([&] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<size_t>(sched_getcpu()), &one);
    sched_setaffinity(0, sizeof one, &one);
    bound = num_processors();
    before = niceness();
    enter_background();
    freed = num_processors();
    after = niceness();
  }).join();
  EXPECT_EQ(bound, 1);
  EXPECT_EQ(freed, own);
  EXPECT_EQ(after, std::max(before, 10)) << "where the process itself gives way it stays as it is";
  EXPECT_EQ(niceness(), before) << "only that thread";
}

}  // namespace
}  // namespace rtrain
