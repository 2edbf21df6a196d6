#include "host/loop/processes/child_life.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "host/base/clock.h"

namespace rtrain::loop {
namespace {

constexpr useconds_t kPauseUs = 500;

ExitStatus reap(int pid) {
  siginfo_t info{};
  while (waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED) != 0 && errno == EINTR) {
  }
  ExitStatus out;
  (info.si_code == CLD_EXITED ? out.exit_code : out.signal) = info.si_status;
  return out;
}

}  // namespace

ChildLife life_of_child(int pid) {
  siginfo_t info{};
  const auto id = static_cast<id_t>(pid);
  if (waitid(P_PID, id, &info, WEXITED | WNOHANG | WNOWAIT) != 0) return ChildLife::kUnknown;
  return info.si_pid == pid ? ChildLife::kEnded : ChildLife::kRuns;
}

ExitStatus end_child(int pid, double timeout_s) {
  const double deadline_s = monotonic_s() + timeout_s;
  while (life_of_child(pid) == ChildLife::kRuns && monotonic_s() < deadline_s) usleep(kPauseUs);
  ExitStatus out;
  out.is_known = life_of_child(pid) != ChildLife::kUnknown;
  if (!out.is_known) return out;
  // The group may have outlived the child, and keeps its number until the child is reaped.
  kill(-pid, SIGKILL);
  kill(pid, SIGKILL);
  return reap(pid);
}

}  // namespace rtrain::loop
