#include "host/cli/train/far_session.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string_view>

#include "host/base/error.h"
#include "host/base/files/fd.h"
#include "host/base/text/text.h"
#include "host/loop/signal.h"

namespace rtrain::cli {
namespace {

constexpr int kNotStarted = 127;
constexpr int kSignalled = 128;

std::atomic<int> input{-1};  // of ssh

void pass_on(int number) {
  const int error = errno;
  const std::string_view line = number == SIGINT ? "INT\n" : number == SIGHUP ? "HUP\n" : "TERM\n";
  if (input >= 0) {
    [[maybe_unused]] const auto written = ::write(input, line.data(), line.size());
  }
  errno = error;
}

[[noreturn]] void become(const std::vector<std::string>& words) {
  std::vector<char*> args;
  for (const std::string& word : words) args.push_back(const_cast<char*>(word.c_str()));
  args.push_back(nullptr);
  for (const int number : loop::kStopSignals) std::signal(number, SIG_DFL);
  execvp(args.front(), args.data());
  _exit(kNotStarted);
}

}  // namespace

int run_far_session(const std::vector<std::string>& words, bool terminal) {
  std::array<int, 2> pipe{-1, -1};
  if (!terminal && ::pipe2(pipe.data(), O_CLOEXEC) != 0) {
    throw Error(Code::kEnvironment, cat("no pipe: ", std::string_view(std::strerror(errno))));
  }
  Fd read_end(pipe[0]);
  const Fd write_end(pipe[1]);
  input = write_end.get();
  std::signal(SIGPIPE, SIG_IGN);  // ssh may end before a signal comes
  for (const int number : loop::kStopSignals) std::signal(number, &pass_on);
  const pid_t pid = fork();
  if (pid < 0) {
    throw Error(Code::kEnvironment,
                cat("cannot start ", words.front(), ": ", std::string_view(std::strerror(errno))));
  }
  if (pid == 0) {
    if (!terminal) {
      ::dup2(read_end.get(), STDIN_FILENO);
      ::setpgid(0, 0);  // a Ctrl-C in this terminal is this process's to pass on
    }
    become(words);
  }
  read_end = Fd();
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
  input = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : kSignalled + WTERMSIG(status);
}

}  // namespace rtrain::cli
