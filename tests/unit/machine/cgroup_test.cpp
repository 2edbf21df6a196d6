// The memory and processor time that a cgroup's files leave to its processes.
#include "host/machine/cgroup.h"

#include <gtest/gtest.h>

#include "tests/unit/temp_folder.h"

namespace rtrain::machine {
namespace {

class CgroupTest : public testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) { folder_.write(name, text); }
  std::optional<CpuLimit> limit(const std::vector<std::string>& folders) {
    std::vector<std::string> paths;
    for (const std::string& each : folders) paths.push_back(folder_.path() + "/" + each);
    return cpu_limit(paths);
  }
  std::optional<int64_t> free_memory(int64_t swap) {
    return cgroup_free_memory(folder_.path(), swap);
  }

 private:
  TempFolder folder_;
};

TEST_F(CgroupTest, NoLimitNoAnswer) {
  EXPECT_EQ(free_memory(5), std::nullopt);
  write("memory.max", "max\n");
  EXPECT_EQ(free_memory(5), std::nullopt);
}

TEST_F(CgroupTest, PageCacheIsFreeAndSwapIsLimited) {
  write("memory.max", "1000\n");
  write("memory.current", "900\n");
  write("memory.stat", "anon 600\nfile 300\ninactive_file 200\nactive_file 50\n");
  EXPECT_EQ(free_memory(0), 350);
  EXPECT_EQ(free_memory(70), 420);
  write("memory.swap.max", "100\n");
  write("memory.swap.current", "60\n");
  EXPECT_EQ(free_memory(70), 390);
}

TEST_F(CgroupTest, FilesOfTheFirstVersion) {
  write("memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(free_memory(0), std::nullopt);
  write("memory.limit_in_bytes", "1000\n");
  write("memory.usage_in_bytes", "1100\n");
  write("memory.stat", "inactive_file 10\ntotal_inactive_file 30\ntotal_active_file 20\n");
  EXPECT_EQ(free_memory(7), 7);
}

TEST_F(CgroupTest, TheLowestLimitOfAllFoldersCounts) {
  write("job/cpu.max", "max 100000\n");
  EXPECT_FALSE(limit({"job", "none"}));
  write("job/run/cpu.max", "80000 100000\n");
  write("job/run/cpu.stat", "usage_usec 5\nnr_periods 40\nnr_throttled 30\nthrottled_usec 9\n");
  write("job/v1/cpu.cfs_quota_us", "200000\n");
  write("job/v1/cpu.cfs_period_us", "100000\n");
  write("job/v1/cpu.stat", "nr_periods 7\nnr_throttled 6\nthrottled_time 3\n");
  const auto both = limit({"job/v1", "job/run", "job"});
  ASSERT_TRUE(both);
  EXPECT_DOUBLE_EQ(both->cores, 0.8);
  EXPECT_EQ(both->periods, 40U);
  EXPECT_EQ(both->throttled, 30U);
  const auto old = limit({"job/v1", "job"});
  ASSERT_TRUE(old);
  EXPECT_DOUBLE_EQ(old->cores, 2);
  EXPECT_EQ(old->throttled, 6U);
  write("job/v1/cpu.cfs_quota_us", "-1\n");
  EXPECT_FALSE(limit({"job/v1"}));
}

}  // namespace
}  // namespace rtrain::machine
