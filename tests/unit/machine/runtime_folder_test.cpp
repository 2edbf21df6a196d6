#include "host/machine/leases/runtime_folder.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "host/base/error.h"
#include "tests/unit/temp_folder.h"

namespace rtrain::machine {
namespace {

class RuntimeFolder : public testing::Test {
 protected:
  void SetUp() override { setenv("RTRAIN_RUNTIME_DIR", path_.c_str(), 1); }
  void TearDown() override { unsetenv("RTRAIN_RUNTIME_DIR"); }

  std::string refusal() const {
    try {
      runtime_folder();
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), Code::kEnvironment);
      return e.message();
    }
    return "";
  }

  TempFolder folder_;
  std::string path_ = folder_ / "runtime";
};

TEST_F(RuntimeFolder, IsMadeForItsOwnerAlone) {
  EXPECT_EQ(runtime_folder(), path_);
  EXPECT_EQ(runtime_folder(), path_);
  struct stat info {};
  ASSERT_EQ(stat(path_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700U);
}

TEST_F(RuntimeFolder, OpenToOthersIsRefused) {
  ASSERT_EQ(mkdir(path_.c_str(), 0755), 0);
  ASSERT_EQ(chmod(path_.c_str(), 0755), 0);
  EXPECT_NE(refusal().find("is open to other users"), std::string::npos);
}

TEST_F(RuntimeFolder, SymbolicLinkIsRefused) {
  ASSERT_EQ(symlink("/tmp", path_.c_str()), 0);
  EXPECT_NE(refusal().find("is not a folder"), std::string::npos);
}

TEST_F(RuntimeFolder, MissingParentIsNamed) {
  setenv("RTRAIN_RUNTIME_DIR", (folder_ / "no/where").c_str(), 1);
  EXPECT_NE(refusal().find("No such file"), std::string::npos);
}

// A session's folder disappears at logout, and cron jobs have none: all runs of a user share one
// folder.
TEST_F(RuntimeFolder, DoesNotDependOnTheSession) {
  const std::string shared = "/tmp/rtrain-" + std::to_string(geteuid());
  const bool was_there = std::filesystem::exists(shared);
  unsetenv("RTRAIN_RUNTIME_DIR");
  setenv("XDG_RUNTIME_DIR", folder_.path().c_str(), 1);
  EXPECT_EQ(runtime_folder(), shared);
  unsetenv("XDG_RUNTIME_DIR");
  EXPECT_EQ(runtime_folder(), shared);
  if (!was_there) rmdir(shared.c_str());
}

TEST_F(RuntimeFolder, MarkSeesThatItIsGone) {
  const RuntimeFolderMark mark;
  EXPECT_FALSE(mark.is_gone());
  std::filesystem::rename(path_, folder_ / "away");
  EXPECT_TRUE(mark.is_gone());
  runtime_folder();
  EXPECT_TRUE(mark.is_gone()) << "another folder of that name is another folder";
}

TEST_F(RuntimeFolder, TouchingReachesEveryFile) {
  const RuntimeFolderMark mark;
  const std::string core = folder_.write("runtime/leases/core-0", "{}");
  const std::string socket = folder_.write("runtime/0123.sock", "");
  const timespec old[2] = {{1, 0}, {1, 0}};
  for (const std::string& each : {core, socket, path_, path_ + "/leases"}) {
    ASSERT_EQ(utimensat(AT_FDCWD, each.c_str(), old, 0), 0);
  }
  mark.touch_files();
  for (const std::string& each : {core, socket, path_, path_ + "/leases"}) {
    struct stat info {};
    ASSERT_EQ(stat(each.c_str(), &info), 0);
    EXPECT_GT(info.st_mtime, 1) << each;
    EXPECT_GT(info.st_atime, 1) << each;
  }
}

}  // namespace
}  // namespace rtrain::machine
