#include "host/loop/processes/group_guard.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <set>

#include "host/loop/channel/channel.h"

namespace rtrain::loop {
namespace {

constexpr int kSocketFd = 3;

}  // namespace

GroupGuard::GroupGuard(Loop& loop, const std::string& file, const Descendants& descendants) {
  const SocketPair sockets = make_socket_pair();
  socket_ = sockets.near;
  ProcessOptions options;
  options.file = file;
  options.args = {"rtrain", "--guard"};
  for (const std::string& arg : descendants.to_args()) options.args.push_back(arg);
  options.descriptors = {STDOUT_FILENO, STDERR_FILENO, sockets.far};
  try {
    process_ = std::make_unique<Process>(loop, options, [](const ExitStatus&) {});
  } catch (...) {
    close(sockets.far);
    close(socket_);
    throw;
  }
  close(sockets.far);
}

GroupGuard::~GroupGuard() { close(socket_); }

void GroupGuard::add(int group) { write(group); }
void GroupGuard::del(int group) { write(-group); }

// If the guard has ended or is stopped, the groups are unguarded, and the run continues.
void GroupGuard::write(int number) {
  constexpr int kFlags = MSG_DONTWAIT | MSG_NOSIGNAL;
  while (::send(socket_, &number, sizeof(number), kFlags) < 0 && errno == EINTR) {
  }
}

int run_group_guard(const std::string& mark, const std::string& cgroup) {
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, nullptr);
  // The guard must not keep the controller's terminal and output pipes open after its end.
  close(STDOUT_FILENO);
  close(STDERR_FILENO);
  std::set<int> groups;
  int number = 0;
  for (;;) {
    const ssize_t n = ::read(kSocketFd, &number, sizeof(number));
    if (n < 0 && errno == EINTR) continue;
    if (n != sizeof(number)) break;
    if (number > 0) groups.insert(number);
    if (number < 0) groups.erase(-number);
  }
  for (const int group : groups) kill(-group, SIGKILL);
  Descendants::end(mark, cgroup);
  return 0;
}

}  // namespace rtrain::loop
