#include "host/machine/processes/open_files.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "host/base/error.h"

namespace rtrain::machine {
namespace {

class FileReserveTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before_), 0);
    const rlimit few{.rlim_cur = 256, .rlim_max = before_.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  }
  void TearDown() override { setrlimit(RLIMIT_NOFILE, &before_); }

  static rlim_t soft_limit() {
    rlimit now{};
    getrlimit(RLIMIT_NOFILE, &now);
    return now.rlim_cur;
  }

  rlimit before_{};
};

TEST_F(FileReserveTest, ReservesOfSeveralUsersAddUp) {
  const FileReserve strangers(300);
  const FileReserve workers(400);
  EXPECT_GT(soft_limit(), rlim_t{700});
}

TEST_F(FileReserveTest, AReserveThatHasEndedDoesNotCount) {
  for (int attempt = 0; attempt < 20; ++attempt) const FileReserve workers(300);
  EXPECT_LT(soft_limit(), rlim_t{600});
}

TEST_F(FileReserveTest, AHardLimitThatIsTooLowIsNamed) {
  if (before_.rlim_max > INT32_MAX) GTEST_SKIP() << "the hard limit allows any number";
  try {
    const FileReserve all(static_cast<int>(before_.rlim_max));
    ADD_FAILURE() << "there are not that many";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kEnvironment);
    EXPECT_NE(error.message().find("ulimit -n"), std::string::npos);
  }
}

}  // namespace
}  // namespace rtrain::machine
