// The memory that a cgroup's files leave to its processes.
#include "host/machine/cgroup.h"

#include <gtest/gtest.h>

#include "tests/unit/temp_folder.h"

namespace rtrain::machine {
namespace {

class CgroupTest : public testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) { folder_.write(name, text); }
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

}  // namespace
}  // namespace rtrain::machine
