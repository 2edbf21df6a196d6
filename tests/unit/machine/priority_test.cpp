#include "host/machine/processes/priority.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <string>

namespace rtrain::machine {
namespace {

std::string read(const char* path) {
  std::string out;
  std::getline(std::ifstream(path), out);
  return out;
}

int nice_now() { return getpriority(PRIO_PROCESS, 0); }

// Runs in a process of its own. Returns 0 if all is as it should be.
int step_back_and_forward() {
  setsid();
  const int nice = nice_now();
  const std::string score = read("/proc/self/oom_score_adj");
  const std::string session = read("/proc/self/autogroup");
  StepBack back(getpid());
  if (may_restore_priority() && nice_now() != 10) return 1;
  if (read("/proc/self/oom_score_adj") != "1000") return 2;
  if (!session.empty() && !read("/proc/self/autogroup").ends_with("nice 10")) return 3;
  back.step_forward();
  if (nice_now() != nice) return 4;
  if (read("/proc/self/oom_score_adj") != score) return 5;
  return session.empty() || read("/proc/self/autogroup").ends_with("nice 0") ? 0 : 6;
}

TEST(StepBack, LastsUntilTheStepForward) {
  const int child = fork();
  if (child == 0) _exit(step_back_and_forward());
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 0) << "the number of the check that fails";
}

}  // namespace
}  // namespace rtrain::machine
