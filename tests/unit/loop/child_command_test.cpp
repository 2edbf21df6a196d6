#include "host/loop/processes/child_command.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <iterator>
#include <string>

#include "host/base/error.h"
#include "host/loop/processes/child_life.h"
#include "tests/unit/temp_folder.h"

namespace rtrain::loop {
namespace {

constexpr double kLong = 30;

// While it lives, this process ignores SIGCHLD, so that the kernel reaps its children.
class IgnoredSigchld {
 public:
  IgnoredSigchld() { before_ = signal(SIGCHLD, SIG_IGN); }
  ~IgnoredSigchld() { signal(SIGCHLD, before_); }

 private:
  sighandler_t before_;
};

class ChildCommandTest : public testing::Test {
 protected:
  ChildCommandOptions options_of(const std::string& ending) const {
    return {.args = {"--child", ending}, .env = {}, .log = folder_ / "log"};
  }
  std::string log() const {
    std::ifstream file(folder_ / "log");
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static bool is_there(int pid) { return kill(pid, 0) == 0; }

  TempFolder folder_;
};

TEST_F(ChildCommandTest, ItsExitCodeAndOutputAreKept) {
  ChildCommand child(options_of("7"));
  const ExitStatus status = child.end(kLong);
  EXPECT_EQ(status.exit_code, 7);
  EXPECT_EQ(status.signal, 0);
  EXPECT_FALSE(child.is_running());
  EXPECT_EQ(child.end(0).exit_code, 7) << "again it says the same";
  EXPECT_EQ(log(), "the child ends\n");
  ChildCommand(options_of("0")).end(kLong);
  EXPECT_EQ(log(), "the child ends\nthe child ends\n") << "another one writes behind it";
}

TEST_F(ChildCommandTest, ASignalReachesIt) {
  ChildCommand child(options_of("wait"));
  EXPECT_TRUE(child.is_running());
  child.send(SIGTERM);
  const ExitStatus status = child.end(kLong);
  EXPECT_EQ(status.signal, SIGTERM);
  child.send(SIGTERM);  // reaches no process: another process may have the number by now
}

TEST_F(ChildCommandTest, WhatStillRunsAfterTheTimeIsKilled) {
  ChildCommand child(options_of("wait"));
  EXPECT_EQ(child.end(0.05).signal, SIGKILL);
  int pid = 0;
  {
    const ChildCommand forgotten(options_of("wait"));
    pid = forgotten.pid();
    EXPECT_TRUE(is_there(pid));
  }
  EXPECT_FALSE(is_there(pid));
}

TEST_F(ChildCommandTest, WhereTheKernelReapsChildrenItsEndIsSeenAndNotHow) {
  const IgnoredSigchld ignored;
  ChildCommand child(options_of("3"));
  const ExitStatus status = child.end(kLong);
  EXPECT_FALSE(status.is_known);
  EXPECT_FALSE(child.is_running());
  ChildCommand waiting(options_of("wait"));
  EXPECT_TRUE(waiting.is_running());
  waiting.send(SIGTERM);
  EXPECT_FALSE(waiting.end(kLong).is_known);
  EXPECT_EQ(life_of_child(waiting.pid()), ChildLife::kUnknown);
}

TEST_F(ChildCommandTest, ALogThatCannotBeWrittenIsAnError) {
  ChildCommandOptions options = options_of("0");
  options.log = folder_ / "none/log";
  try {
    ChildCommand child(options);
    ADD_FAILURE() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::kEnvironment);
    EXPECT_NE(e.message().find("none/log"), std::string::npos) << e.message();
  }
}

}  // namespace
}  // namespace rtrain::loop
