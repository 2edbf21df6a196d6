#include "host/machine/libraries/kernel_cache.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "tests/unit/temp_folder.h"

namespace rtrain::machine {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> files_of(const std::string& folder) {
  std::vector<fs::path> out;
  for (const auto& entry : fs::directory_iterator(folder)) out.push_back(entry.path());
  return out;
}

class KernelCacheTest : public testing::Test {
 protected:
  TempFolder temp_;
  std::string folder_ = temp_ / "cache/kernels";
  KernelCache cache_{folder_};
  const std::string image_ = std::string("\0\1image", 7);
};

TEST_F(KernelCacheTest, FindsWhatWasAdded) {
  EXPECT_FALSE(cache_.find("text, sm_90"));
  cache_.add("text, sm_90", image_);
  EXPECT_EQ(cache_.find("text, sm_90"), image_);
  EXPECT_EQ(KernelCache(folder_).find("text, sm_90"), image_);
  EXPECT_FALSE(cache_.find("text, sm_80"));
  struct stat facts {};
  ASSERT_EQ(stat(folder_.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777U, 0700U);
}

TEST_F(KernelCacheTest, ADamagedFileIsNone) {
  cache_.add("key", image_);
  const fs::path file = files_of(folder_).at(0);
  std::fstream(file, std::ios::in | std::ios::out | std::ios::binary).seekp(-2, std::ios::end)
      << 'X';
  EXPECT_FALSE(cache_.find("key"));
  cache_.add("key", image_);
  EXPECT_EQ(cache_.find("key"), image_);
  fs::resize_file(file, 5);
  EXPECT_FALSE(cache_.find("key"));
  fs::resize_file(file, 0);
  EXPECT_FALSE(cache_.find("key"));
}

// Two keys of one hash: the file of the other key, under this key's name.
TEST_F(KernelCacheTest, AFileOfAnotherKeyIsNone) {
  cache_.add("one", image_);
  const fs::path one = files_of(folder_).at(0);
  fs::rename(one, temp_ / "kept");
  cache_.add("two", "other");
  const fs::path two = files_of(folder_).at(0);
  fs::rename(temp_ / "kept", two);
  EXPECT_FALSE(cache_.find("two"));
}

TEST_F(KernelCacheTest, WhatOthersMayWriteIsNone) {
  cache_.add("key", image_);
  const fs::path file = files_of(folder_).at(0);
  chmod(file.c_str(), 0620);
  EXPECT_FALSE(cache_.find("key"));
  chmod(file.c_str(), 0600);
  EXPECT_TRUE(cache_.find("key"));
  chmod(folder_.c_str(), 0777);
  EXPECT_FALSE(cache_.find("key"));
  cache_.add("new", image_);
  EXPECT_EQ(files_of(folder_).size(), 1U);
  chmod(folder_.c_str(), 0700);
  fs::rename(file, temp_ / "kept");
  fs::create_symlink(temp_ / "kept", file);
  EXPECT_FALSE(cache_.find("key"));
}

TEST_F(KernelCacheTest, WhatBelongsToAnotherUserIsNone) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  cache_.add("key", image_);
  const fs::path file = files_of(folder_).at(0);
  ASSERT_EQ(chown(file.c_str(), 12345, 12345), 0);
  EXPECT_FALSE(cache_.find("key"));
  ASSERT_EQ(chown(file.c_str(), 0, 0), 0);
  ASSERT_EQ(chown(folder_.c_str(), 12345, 12345), 0);
  EXPECT_FALSE(cache_.find("key"));
}

TEST_F(KernelCacheTest, TheOldestGoFirst) {
  const std::string image(1000, 'i');
  const KernelCache cache(folder_, 3500);
  const auto pause = [] { std::this_thread::sleep_for(std::chrono::milliseconds(20)); };
  for (const char* key : {"a", "b", "c"}) {
    cache.add(key, image);
    pause();
  }
  EXPECT_TRUE(cache.find("a"));  // it is the newest now
  pause();
  cache.add("d", image);
  EXPECT_TRUE(cache.find("a"));
  EXPECT_FALSE(cache.find("b"));
  EXPECT_TRUE(cache.find("c"));
  EXPECT_TRUE(cache.find("d"));
}

TEST_F(KernelCacheTest, WithoutAFolderItKeepsNothing) {
  const KernelCache cache("");
  cache.add("key", image_);
  EXPECT_FALSE(cache.find("key"));
  const KernelCache blocked(temp_.write("file", "text") + "/kernels");
  blocked.add("key", image_);
  EXPECT_FALSE(blocked.find("key"));
}

}  // namespace
}  // namespace rtrain::machine
