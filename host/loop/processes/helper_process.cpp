#include "host/loop/processes/helper_process.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/loop/processes/child_life.h"
#include "host/loop/processes/worker_descriptors.h"

namespace rtrain::loop {

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

bool HelperProcess::is_running() const {
  return !is_ended_ && life_of_child(pid_) == ChildLife::kRuns;
}

ExitStatus HelperProcess::end(double timeout_s) {
  if (is_ended_) return status_;
  is_ended_ = true;
  socket_.reset();
  status_ = end_child(pid_, timeout_s);
  return status_;
}

}  // namespace rtrain::loop
