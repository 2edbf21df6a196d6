#include "host/worker/crash_handler.h"

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <exception>

#include "host/machine/processes/full_stack.h"
#include "host/worker/profile/native_stack.h"

namespace rtrain::worker {
namespace {

constexpr std::array kFatal = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
constexpr int kHandlerFrames = 3;  // native_frames, the handler, the kernel's return from it
constexpr size_t kStackBytes = size_t{64} << 10;

// Sanitizers install their own handlers for these signals.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

Progress* shown = nullptr;
std::atomic<bool> crashed{false};

// During the handler the signals have their default action: a second fault ends the process as the
// first one would have.
void on_fatal(int number, siginfo_t* info, void*) {
  leave_unwinder();
  if (!crashed.exchange(true)) {
    pages::Crash& crash = shown->page().crash;
    crash.address = number == SIGABRT ? 0 : reinterpret_cast<uint64_t>(info->si_addr);
    if (syscall(SYS_gettid) != getpid()) prctl(PR_GET_NAME, crash.thread.bytes);
    if (number == SIGSEGV && machine::is_at_stack_end(info->si_addr))
      crash.reason.set(machine::full_stack_reason());
    crash.num_native = native_frames(crash.native, kHandlerFrames);
    std::atomic_thread_fence(std::memory_order_release);
    crash.signal = number;
    crash.num_lua = shown->frames(crash.lua);
  }
  std::signal(number, SIG_DFL);
  raise(number);
}

void on_terminate() {
  pages::Crash& crash = shown->page().crash;
  try {
    if (std::current_exception() != nullptr) throw;
    crash.reason.set("std::terminate was called");
  } catch (const std::exception& e) {
    crash.reason.set(e.what());
  } catch (...) {
    crash.reason.set("an exception that is not a std::exception was not caught");
  }
  std::abort();
}

}  // namespace

void install_crash_handler(Progress& progress) {
  shown = &progress;
  std::set_terminate(&on_terminate);
  if (kSanitized) return;
  machine::note_stack_end();
  static std::array<char, kStackBytes> memory;
  stack_t stack{};
  stack.ss_sp = memory.data();
  stack.ss_size = memory.size();
  sigaltstack(&stack, nullptr);
  sigset_t set;
  sigemptyset(&set);
  for (const int number : kFatal) {
    struct sigaction action {};
    action.sa_sigaction = &on_fatal;
    action.sa_flags = static_cast<int>(SA_SIGINFO | SA_ONSTACK | SA_NODEFER);
    sigaction(number, &action, nullptr);
    sigaddset(&set, number);
  }
  // A blocked signal of this kind would end the process without the handler.
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

}  // namespace rtrain::worker
