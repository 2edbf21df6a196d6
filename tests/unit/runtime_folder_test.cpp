#include "host/base/runtime_folder.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "host/base/error.h"
#include "tests/unit/temp_folder.h"

namespace rtrain {
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
  EXPECT_NE(refusal().find("is no folder"), std::string::npos);
}

TEST_F(RuntimeFolder, MissingParentIsNamed) {
  setenv("RTRAIN_RUNTIME_DIR", (folder_ / "no/where").c_str(), 1);
  EXPECT_NE(refusal().find("No such file"), std::string::npos);
}

}  // namespace
}  // namespace rtrain
