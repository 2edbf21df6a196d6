#include "host/machine/processes/process_start.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstddef>

namespace rtrain::machine {
namespace {

// Linux's default.
constexpr size_t kStackBytes = size_t{8} << 20;

void set_action(int number, void (*action)(int)) {
  struct sigaction wanted {};
  wanted.sa_handler = action;
  wanted.sa_flags = SA_RESTART;
  sigaction(number, &wanted, nullptr);
}

// Raises the limit of the main thread's stack, and the size of other threads' stacks, which by
// default is the limit at the process's start.
void provide_stacks() {
  struct rlimit limit {};
  if (getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur < kStackBytes) {
    limit.rlim_cur = std::min<rlim_t>(kStackBytes, limit.rlim_max);
    setrlimit(RLIMIT_STACK, &limit);
  }
  pthread_attr_t attributes;
  size_t size = 0;
  if (pthread_getattr_default_np(&attributes) != 0) return;
  if (pthread_attr_getstacksize(&attributes, &size) == 0 && size < kStackBytes) {
    pthread_attr_setstacksize(&attributes, kStackBytes);
    pthread_setattr_default_np(&attributes);
  }
  pthread_attr_destroy(&attributes);
}

// A handler, because a program that is started would inherit SIG_IGN.
void do_nothing(int) {}

}  // namespace

void begin_process() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    // open() returns the lowest free number, which is `fd`.
    if (fcntl(fd, F_GETFD) < 0) open("/dev/null", O_RDWR);
  }
  provide_stacks();
  set_action(SIGCHLD, SIG_DFL);
  set_action(SIGPIPE, SIG_DFL);
  set_action(SIGXFSZ, &do_nothing);
}

void outlive_readers() { set_action(SIGPIPE, &do_nothing); }

}  // namespace rtrain::machine
