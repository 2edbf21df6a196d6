#include "host/loop/processes/process.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>

#include "host/base/error.h"
#include "host/base/text/text.h"

extern char** environ;

namespace rtrain::loop {
namespace {

[[noreturn]] void fail(const std::string& what, int error) { throw SpawnError(what, error); }

class FileActions {
 public:
  FileActions() { posix_spawn_file_actions_init(&actions_); }
  ~FileActions() {
    for (const int fd : copies_) close(fd);
    posix_spawn_file_actions_destroy(&actions_);
  }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;

  void give(const std::vector<int>& descriptors) {
    posix_spawn_file_actions_addopen(&actions_, 0, "/dev/null", O_RDONLY, 0);
    // They are first moved to higher numbers, so that a dup2 never overwrites one of them.
    const int above = static_cast<int>(descriptors.size()) + 1;
    int place = 0;
    for (const int fd : descriptors) {
      ++place;
      if (fd < 0) continue;
      const int copy = fcntl(fd, F_DUPFD_CLOEXEC, above);
      if (copy < 0) fail("cannot prepare a descriptor for a worker", errno);
      copies_.push_back(copy);
      posix_spawn_file_actions_adddup2(&actions_, copy, place);
    }
    posix_spawn_file_actions_addclosefrom_np(&actions_, place + 1);
  }
  const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_;
  std::vector<int> copies_;
};

// A child inherits the processors of the thread that starts it.
class Affinity {
 public:
  explicit Affinity(const std::vector<int>& cpus) {
    if (cpus.empty() || sched_getaffinity(0, sizeof(before_), &before_) != 0) return;
    cpu_set_t wanted;
    CPU_ZERO(&wanted);
    for (const int cpu : cpus) CPU_SET(static_cast<size_t>(cpu), &wanted);
    changed_ = sched_setaffinity(0, sizeof(wanted), &wanted) == 0;
  }
  ~Affinity() {
    if (changed_) sched_setaffinity(0, sizeof(before_), &before_);
  }
  Affinity(const Affinity&) = delete;
  Affinity& operator=(const Affinity&) = delete;

 private:
  cpu_set_t before_;
  bool changed_ = false;
};

// A session of its own, no signal blocked, and the default action for every signal.
class Attributes {
 public:
  Attributes() {
    posix_spawnattr_init(&attributes_);
    sigset_t none;
    sigset_t all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setsigdefault(&attributes_, &all);
    posix_spawnattr_setflags(&attributes_,
                             POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  ~Attributes() { posix_spawnattr_destroy(&attributes_); }
  const posix_spawnattr_t* get() const { return &attributes_; }

 private:
  posix_spawnattr_t attributes_;
};

std::vector<std::string> child_environment(const ProcessOptions& options) {
  std::vector<std::string> out;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view name =
        std::string_view(*entry).substr(0, std::string_view(*entry).find('='));
    const bool replaced = std::any_of(options.env.begin(), options.env.end(),
                                      [&](const auto& pair) { return pair.first == name; });
    const bool dropped =
        std::find(options.without.begin(), options.without.end(), name) != options.without.end();
    if (!replaced && !dropped) out.emplace_back(*entry);
  }
  for (const auto& [name, value] : options.env) out.push_back(cat(name, "=", value));
  return out;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (std::string& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

}  // namespace

SpawnError::SpawnError(const std::string& what, int reason)
    : Error(
          Code::kEnvironment,
          cat(what, ": ", std::string_view(std::strerror(reason)),
              reason == EAGAIN ? " (the limit of processes, `ulimit -u`, or of the cgroup)" : "")),
      reason_(reason) {}

bool SpawnError::is_transient() const { return reason_ == EAGAIN || reason_ == ENOMEM; }

std::string to_text(const ExitStatus& status) {
  if (!status.is_known) return "ended, nobody knows how (SIGCHLD is ignored in this process)";
  if (status.signal == 0) return cat("exited with code ", status.exit_code);
  const char* name = sigabbrev_np(status.signal);
  return cat("killed by signal ", status.signal, " (", name == nullptr ? "?" : cat("SIG", name),
             ")");
}

int spawn(const ProcessOptions& options) {
  FileActions actions;
  actions.give(options.descriptors);
  const Attributes attributes;
  std::vector<std::string> args = options.args;
  std::vector<std::string> env = child_environment(options);
  const Affinity affinity(options.cpus);
  int pid = -1;
  const int error = posix_spawn(&pid, options.file.c_str(), actions.get(), attributes.get(),
                                pointers(args).data(), pointers(env).data());
  if (error != 0) fail(cat("cannot start ", options.file), error);
  return pid;
}

Process::Process(Loop& loop, const ProcessOptions& options, OnExit on_exit)
    : Process(loop, spawn(options), std::move(on_exit)) {}

Process::Process(Loop& loop, int pid, OnExit on_exit) : pid_(pid), on_exit_(std::move(on_exit)) {
  running_ = true;
  const int fd = static_cast<int>(syscall(SYS_pidfd_open, pid_, 0));
  if (fd < 0) {
    const int reason = errno;
    on_exit_ = nullptr;
    kill_group(SIGKILL);
    on_end();
    fail("cannot watch a worker process (pidfd_open)", reason);
  }
  exit_.emplace(loop, fd, [this](int) { on_end(); });
  exit_->start(UV_READABLE);
}

Process::~Process() {
  if (!running_) return;
  on_exit_ = nullptr;
  kill_group(SIGKILL);
  on_end();
}

void Process::kill_group(int signal) {
  if (!running_ || is_reaped()) return;
  // Before the child's setsid() this group does not exist yet, so the process is signalled too.
  kill(-pid_, signal);
  kill(pid_, signal);
}

// The kernel reaps the child if other code in this process ignores SIGCHLD. Another process may
// then have its pid.
bool Process::is_reaped() const {
  return exit_ && syscall(SYS_pidfd_send_signal, exit_->fd(), 0, nullptr, 0) != 0 && errno == ESRCH;
}

// Waits by descriptor: if the kernel reaped the child, another child may have got its pid.
void Process::on_end() {
  running_ = false;
  const idtype_t type = exit_ ? P_PIDFD : P_PID;
  const auto id = static_cast<id_t>(exit_ ? exit_->fd() : pid_);
  siginfo_t info{};
  const auto wait = [&](int options) {
    while (waitid(type, id, &info, WEXITED | options) < 0) {
      if (errno != EINTR && errno != EAGAIN) return false;
      // libuv has made the descriptor non-blocking.
      pollfd ended{static_cast<int>(id), POLLIN, 0};
      if (errno == EAGAIN) poll(&ended, 1, -1);
    }
    return true;
  };
  ExitStatus out;
  out.is_known = wait(WNOWAIT);
  if (out.is_known) {
    kill(-pid_, SIGKILL);
    wait(0);
    (info.si_code == CLD_EXITED ? out.exit_code : out.signal) = info.si_status;
  }
  if (exit_) exit_->close();
  if (on_exit_) on_exit_(out);
}

void die_with_parent(int parent_pid) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent_pid) _exit(1);
}

}  // namespace rtrain::loop
