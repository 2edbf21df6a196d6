#include "host/loop/signal_watch.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <optional>

namespace rtrain::loop {
namespace {

struct sigaction action_of(int number) {
  struct sigaction out {};
  sigaction(number, nullptr, &out);
  return out;
}

TEST(SignalWatch, TellsTheFirstSignalAndGivesTheHandlersBack) {
  const auto before = action_of(SIGTERM).sa_handler;
  {
    const SignalWatch watch;
    EXPECT_EQ(watch.first(), 0);
    raise(SIGTERM);
    EXPECT_EQ(watch.first(), SIGTERM);
  }
  EXPECT_EQ(action_of(SIGTERM).sa_handler, before);
  const SignalWatch another;
  EXPECT_EQ(another.first(), 0) << "each begins without one";
}

TEST(SignalWatch, LeavesWhatIsIgnoredIgnored) {
  const auto before = signal(SIGHUP, SIG_IGN);
  {
    const SignalWatch watch;
    raise(SIGHUP);
    EXPECT_EQ(watch.first(), 0);
  }
  signal(SIGHUP, before);
}

// Returns the exit code of a process that gets both signals.
int code_after(int first, int second) {
  const int child = fork();
  if (child == 0) {
    const SignalWatch watch;
    raise(first);
    raise(second);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(SignalWatch, TheSecondSignalEndsTheProcess) {
  EXPECT_EQ(code_after(SIGINT, SIGINT), 130);
  EXPECT_EQ(code_after(SIGINT, SIGTERM), 143);
  EXPECT_EQ(code_after(SIGTERM, SIGINT), 130);
}

}  // namespace
}  // namespace rtrain::loop
