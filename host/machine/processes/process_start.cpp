#include "host/machine/processes/process_start.h"

#include <fcntl.h>
#include <unistd.h>

#include <csignal>

namespace rtrain::machine {
namespace {

void set_action(int number, void (*action)(int)) {
  struct sigaction wanted {};
  wanted.sa_handler = action;
  wanted.sa_flags = SA_RESTART;
  sigaction(number, &wanted, nullptr);
}

// Unlike SIG_IGN it is not inherited by a program that is started.
void do_nothing(int) {}

}  // namespace

void begin_process() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    // The lowest free number is this one.
    if (fcntl(fd, F_GETFD) < 0) open("/dev/null", O_RDWR);
  }
  set_action(SIGCHLD, SIG_DFL);
  set_action(SIGPIPE, SIG_DFL);
  set_action(SIGXFSZ, &do_nothing);
}

void outlive_readers() { set_action(SIGPIPE, &do_nothing); }

}  // namespace rtrain::machine
