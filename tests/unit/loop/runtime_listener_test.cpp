#include "host/loop/runtime_listener.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <vector>

#include "tests/unit/no_more_files.h"
#include "tests/unit/run_until.h"
#include "tests/unit/temp_folder.h"

namespace rtrain::loop {
namespace {

constexpr const char* kSocket = "listener.sock";

class RuntimeListenerTest : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::permissions(folder_.path(), std::filesystem::perms::owner_all);
    setenv("RTRAIN_RUNTIME_DIR", folder_.path().c_str(), 1);
  }
  void TearDown() override {
    unsetenv("RTRAIN_RUNTIME_DIR");
    for (const int fd : taken_) ::close(fd);
  }

  TempFolder folder_;
  Loop loop_;
  std::vector<int> taken_;
};

TEST_F(RuntimeListenerTest, AConnectionWaitsForADescriptorAndTheLoopDoesNotSpin) {
  const RuntimeListener listener(loop_, kSocket, SOCK_STREAM,
                                 [this](int fd) { taken_.push_back(fd); });
  const int client = machine::connect_runtime_socket(kSocket, SOCK_STREAM);
  ASSERT_GE(client, 0);
  constexpr std::chrono::milliseconds kWhile{500};
  {
    const NoMoreFiles none;
    const double before_s = cpu_s();
    run_for(loop_, kWhile);
    EXPECT_LT(cpu_s() - before_s, 0.1) << "of 0.5 s";
    EXPECT_TRUE(taken_.empty());
  }
  run_until(loop_, [this] { return taken_.size() == 1; });
  ::close(client);
}

}  // namespace
}  // namespace rtrain::loop
