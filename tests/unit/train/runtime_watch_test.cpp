#include "host/train/watch/runtime_watch.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <future>
#include <vector>

#include "tests/unit/run_until.h"
#include "tests/unit/temp_folder.h"

namespace rtrain::train {
namespace {

using std::chrono::milliseconds;

class RuntimeWatchTest : public testing::Test {
 protected:
  void SetUp() override { setenv("RTRAIN_RUNTIME_DIR", path_.c_str(), 1); }
  void TearDown() override { unsetenv("RTRAIN_RUNTIME_DIR"); }

  // Runs the loop until the condition holds and the io thread is idle.
  void run_until(const std::function<bool()>& condition) {
    rtrain::run_until(loop_, condition);
    std::promise<void> idle;
    io_.post([&idle] { idle.set_value(); });
    idle.get_future().wait();
  }

  TempFolder folder_;
  std::string path_ = folder_ / "runtime";
  loop::Loop loop_;
  loop::TaskThread io_{"io"};
  std::vector<std::string> gone_;
};

TEST_F(RuntimeWatchTest, SaysOnceThatTheFolderIsGone) {
  RuntimeWatch watch(loop_, io_, [this](const std::string& path) { gone_.push_back(path); },
                     {milliseconds(1), std::chrono::hours(1)});
  std::filesystem::remove_all(path_);
  run_until([this] { return !gone_.empty(); });
  int rounds = 0;
  run_until([&rounds] { return ++rounds > 20; });
  EXPECT_EQ(gone_, std::vector<std::string>{path_});
}

TEST_F(RuntimeWatchTest, TouchesTheFilesAgainAndAgain) {
  RuntimeWatch watch(loop_, io_, [this](const std::string& path) { gone_.push_back(path); },
                     {milliseconds(1), milliseconds(3)});
  const std::string socket = folder_.write("runtime/0123.sock", "");
  const auto modified = [&socket] {
    struct stat info {};
    EXPECT_EQ(stat(socket.c_str(), &info), 0);
    return info.st_mtime;
  };
  const timespec old[2] = {{1, 0}, {1, 0}};
  for (int time = 0; time < 2; ++time) {
    ASSERT_EQ(utimensat(AT_FDCWD, socket.c_str(), old, 0), 0);
    run_until([&modified] { return modified() > 1; });
  }
  EXPECT_TRUE(gone_.empty());
}

}  // namespace
}  // namespace rtrain::train
