#include "host/loop/processes/command_output.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "host/base/clock.h"
#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/loop/processes/process.h"

namespace rtrain::loop {
namespace {

constexpr useconds_t kPauseUs = 500;

}  // namespace

CommandOutput::CommandOutput(const std::string& command) {
  std::array<int, 2> fds{};
  if (pipe2(fds.data(), O_CLOEXEC) != 0) {
    throw Error(Code::kEnvironment,
                cat("cannot create a pipe: ", std::string_view(std::strerror(errno))));
  }
  pipe_ = Fd(fds[0]);
  const Fd out(fds[1]);
  const Fd nowhere(open("/dev/null", O_WRONLY | O_CLOEXEC));
  ProcessOptions options;
  options.file = "/bin/sh";
  options.args = {"sh", "-c", command};
  options.descriptors = {out.get(), nowhere.get()};
  pid_ = spawn(options);
}

CommandOutput::~CommandOutput() {
  kill(-pid_, SIGKILL);
  kill(pid_, SIGKILL);
  const double deadline_s = monotonic_s() + 0.1;
  while (waitpid(pid_, nullptr, WNOHANG) == 0 && monotonic_s() < deadline_s) usleep(kPauseUs);
}

bool CommandOutput::finish(double timeout_s) {
  const double deadline_s = monotonic_s() + timeout_s;
  std::array<char, 4096> buffer;
  // A command that has ended left its last output in the pipe: it is read even if the time is over.
  for (size_t taken = 0; taken < kMostBytes || monotonic_s() < deadline_s;) {
    pollfd readable{pipe_.get(), POLLIN, 0};
    const double left_s = std::max(0.0, deadline_s - monotonic_s());
    const int ready = poll(&readable, 1, static_cast<int>(to_ms(left_s).count()));
    if (ready == 0) return false;
    if (ready < 0) continue;
    const ssize_t n = read(pipe_.get(), buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return n == 0;
    taken += static_cast<size_t>(n);
    add({buffer.data(), static_cast<size_t>(n)});
  }
  return false;
}

void CommandOutput::add(std::string_view bytes) {
  text_.append(bytes);
  if (text_.size() > 2 * kMostBytes) text_.erase(0, text_.size() - kMostBytes);
}

}  // namespace rtrain::loop
