// tests/soak/faults/kill_at_syscall.cpp: runs a program under ptrace and kills one of its processes
// as it enters its n-th system call.
//
//   kill_at_syscall controller|worker N PROGRAM [ARGUMENT…]
//
// Counts the calls of the controller or of the workers (all threads together) between the first
// attempt by any of the processes to open a file whose name ends in `window-opens` and the first to
// open `window-closes`. With N = 0 no process is killed. Prints one line of JSON: how many calls
// were counted, the call at which it killed, and how the program ended. Status 0; 77 where the
// machine forbids ptrace.
#include <fcntl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

namespace {

constexpr int kSyscallStop = SIGTRAP | 0x80;
constexpr int kForbidden = 77;

// Returns "worker" for `rtrain --worker …`, "controller" for another rtrain, "" for other programs.
std::string role_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/cmdline");
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  const std::string program = bytes.c_str();
  if (program.size() < 6 || program.substr(program.size() - 6) != "rtrain") return "";
  const std::string second = bytes.substr(program.size() + 1).c_str();
  return second == "--worker" ? "worker" : "controller";
}

pid_t process_of(pid_t thread) {
  std::ifstream file("/proc/" + std::to_string(thread) + "/status");
  std::string line;
  while (std::getline(file, line)) {
    if (line.rfind("Tgid:", 0) == 0) return std::atoi(line.c_str() + 5);
  }
  return thread;
}

std::string text_at(pid_t thread, unsigned long address) {
  std::array<char, 256> bytes{};
  iovec here{bytes.data(), bytes.size() - 1};
  iovec there{reinterpret_cast<void*>(address), bytes.size() - 1};
  // Near the end of a page fewer bytes may be readable.
  while (process_vm_readv(thread, &here, 1, &there, 1, 0) < 0 && here.iov_len > 16) {
    here.iov_len = there.iov_len = here.iov_len / 2;
  }
  return bytes.data();
}

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

class Tracer {
 public:
  Tracer(std::string role, long at) : role_(std::move(role)), at_(at) {}

  int run(char** command) {
    root_ = fork();
    if (root_ == 0) {
      if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(kForbidden);
      raise(SIGSTOP);
      execv(command[0], command);
      _exit(127);
    }
    int status = 0;
    waitpid(root_, &status, __WALL);
    if (WIFEXITED(status)) return WEXITSTATUS(status);
    constexpr long kOptions = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK |
                              PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
    ptrace(PTRACE_SETOPTIONS, root_, nullptr, kOptions);
    ptrace(PTRACE_SYSCALL, root_, nullptr, nullptr);
    follow();
    print();
    return 0;
  }

 private:
  struct Thread {
    pid_t process = 0;
    bool in_call = false;
    bool started = false;
  };

  void follow() {
    int status = 0;
    while (true) {
      const pid_t thread = waitpid(-1, &status, __WALL);
      if (thread < 0 && errno == EINTR) continue;
      if (thread < 0) return;
      if (WIFEXITED(status) || WIFSIGNALED(status)) {
        if (thread == root_) root_status_ = status;
        threads_.erase(thread);
        continue;
      }
      ptrace(PTRACE_SYSCALL, thread, nullptr, signal_to_pass(thread, status));
    }
  }

  // Handles a stop of a thread. Returns the signal to pass on to the thread.
  long signal_to_pass(pid_t thread, int status) {
    const int signal = WSTOPSIG(status);
    if (signal == kSyscallStop) {
      on_syscall(thread);
      return 0;
    }
    if (status >> 16 != 0) {
      if (status >> 16 == PTRACE_EVENT_EXEC) roles_.erase(process_of(thread));
      return 0;
    }
    Thread& state = threads_[thread];
    if (signal == SIGSTOP && !state.started && thread != root_) {
      state.started = true;
      return 0;  // a new thread starts with this stop
    }
    return signal;
  }

  void on_syscall(pid_t thread) {
    Thread& state = threads_[thread];
    state.started = true;
    state.in_call = !state.in_call;
    if (!state.in_call) return;
    if (state.process == 0) state.process = process_of(thread);
    user_regs_struct registers{};
    iovec area{&registers, sizeof(registers)};
    constexpr long kGeneral = 1;  // NT_PRSTATUS
    if (ptrace(PTRACE_GETREGSET, thread, kGeneral, &area) != 0) return;
#if defined(__x86_64__)
    const long call = static_cast<long>(registers.orig_rax);
    const unsigned long second = registers.rsi;
#elif defined(__aarch64__)
    const long call = static_cast<long>(registers.regs[8]);
    const unsigned long second = registers.regs[1];
#endif
    if (call == SYS_openat && !closed_) look_at(text_at(thread, second));
    if (!open_ || closed_ || role(state.process) != role_) return;
    if (++count_ != at_) return;
    killed_at_ = call;
    kill(state.process, SIGKILL);
  }

  void look_at(const std::string& path) {
    if (ends_with(path, "window-opens")) open_ = true;
    if (ends_with(path, "window-closes")) closed_ = true;
  }

  const std::string& role(pid_t process) {
    const auto found = roles_.find(process);
    if (found != roles_.end()) return found->second;
    return roles_[process] = role_of(process);
  }

  void print() const {
    const int code = WIFEXITED(root_status_) ? WEXITSTATUS(root_status_) : -WTERMSIG(root_status_);
    std::printf("{\"count\": %ld, \"killed_at\": %ld, \"status\": %d}\n", count_, killed_at_, code);
  }

  std::string role_;
  long at_;
  pid_t root_ = 0;
  int root_status_ = 0;
  long count_ = 0;
  long killed_at_ = -1;
  bool open_ = false;
  bool closed_ = false;
  std::map<pid_t, Thread> threads_;
  std::map<pid_t, std::string> roles_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr, "kill_at_syscall controller|worker N PROGRAM [ARGUMENT...]\n");
    return 2;
  }
  return Tracer(argv[1], std::atol(argv[2])).run(argv + 3);
}
