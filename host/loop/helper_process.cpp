#include "host/loop/helper_process.h"

#include <sys/socket.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "host/base/clock.h"
#include "host/base/error.h"
#include "host/base/text.h"
#include "host/loop/worker_descriptors.h"

namespace rtrain {
namespace {

constexpr useconds_t kPauseUs = 500;

enum class Life { kRuns, kEnded, kUnknown };

// Does not reap it: its number stays its own. kUnknown where the kernel has done so, since somebody
// in this process has SIGCHLD ignored.
Life life_of(int pid) {
  siginfo_t info{};
  const auto id = static_cast<id_t>(pid);
  if (waitid(P_PID, id, &info, WEXITED | WNOHANG | WNOWAIT) != 0) return Life::kUnknown;
  return info.si_pid == pid ? Life::kEnded : Life::kRuns;
}

ExitStatus reap(int pid) {
  siginfo_t info{};
  while (waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED) != 0 && errno == EINTR) {
  }
  ExitStatus out;
  (info.si_code == CLD_EXITED ? out.exit_code : out.signal) = info.si_status;
  return out;
}

}  // namespace

HelperProcess::HelperProcess(const HelperOptions& options) {
  int fds[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) != 0) {
    throw Error(Code::kEnvironment,
                cat("cannot create a socket: ", std::string_view(std::strerror(errno))));
  }
  socket_ = Fd(fds[0]);
  const Fd far(fds[1]);
  static_assert(kChannelFd == 3 && kEngineFd == 6);
  ProcessOptions process;
  process.file = "/proc/self/exe";
  process.args = options.args;
  process.args.insert(process.args.begin(), "rtrain");
  process.args.push_back(std::to_string(getpid()));
  process.env = options.env;
  process.cpus = options.cpus;
  process.descriptors = {STDOUT_FILENO, STDERR_FILENO, far.get(), -1, -1, options.engine_fd};
  pid_ = spawn(process);
}

HelperProcess::~HelperProcess() { end(0); }

bool HelperProcess::is_running() const { return !is_ended_ && life_of(pid_) == Life::kRuns; }

ExitStatus HelperProcess::end(double timeout_s) {
  if (is_ended_) return status_;
  is_ended_ = true;
  socket_.reset();
  const double deadline_s = monotonic_s() + timeout_s;
  while (life_of(pid_) == Life::kRuns && monotonic_s() < deadline_s) usleep(kPauseUs);
  status_.is_known = life_of(pid_) != Life::kUnknown;
  if (!status_.is_known) return status_;
  // Its group outlives it until it is reaped.
  kill(-pid_, SIGKILL);
  kill(pid_, SIGKILL);
  status_ = reap(pid_);
  return status_;
}

}  // namespace rtrain
