#include "host/machine/processes/full_stack.h"

#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "host/base/error.h"

namespace rtrain::machine {
namespace {

// A call may take more than a page at once: buffers of Lua's string library have 8 KiB each.
constexpr uintptr_t kNearEnd = 256 * 1024;
constexpr size_t kHandlerBytes = 64 * 1024;
// With a smaller stack, operators fill it without any recursion.
constexpr rlim_t kSmallBytes = 1024 * 1024;

uintptr_t stack_end = 0;  // the lowest address; 0 if it is not known

void write_error(std::string_view text) {
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text.data(), text.size());
}

void on_fault(int signal, siginfo_t* info, void*) {
  if (is_at_stack_end(info->si_addr)) {
    write_error("rtrain: ");
    write_error(full_stack_reason());
    write_error("\n");
    _exit(exit_code(Code::kUser));
  }
  // After the handler the instruction runs again, and the default action ends the process.
  struct sigaction usual = {};
  usual.sa_handler = SIG_DFL;
  sigaction(signal, &usual, nullptr);
}

}  // namespace

const char* full_stack_reason() {
  struct rlimit limit {};
  if (getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur < kSmallBytes) {
    return "stack overflow: the main thread may have less than 1 MiB (ulimit -s): allow 8 MiB, "
           "ulimit -s 8192";
  }
  return "stack overflow: a function calls itself without end through string.gsub, coroutine.wrap "
         "or another function of C";
}

void note_stack_end() {
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return;
  void* lowest = nullptr;
  size_t size = 0;
  pthread_attr_getstack(&attributes, &lowest, &size);
  pthread_attr_destroy(&attributes);
  stack_end = reinterpret_cast<uintptr_t>(lowest);
}

bool is_at_stack_end(const void* address) {
  const auto place = reinterpret_cast<uintptr_t>(address);
  return stack_end != 0 && place + kNearEnd >= stack_end && place < stack_end + kNearEnd;
}

void explain_full_stack() {
  struct sigaction before = {};
  sigaction(SIGSEGV, nullptr, &before);
  if (before.sa_handler != SIG_DFL) return;  // a sanitizer's handler reports a full stack too
  note_stack_end();
  alignas(std::max_align_t) static std::array<std::byte, kHandlerBytes> memory;
  const stack_t other = {.ss_sp = memory.data(), .ss_flags = 0, .ss_size = memory.size()};
  struct sigaction action = {};
  action.sa_sigaction = &on_fault;
  action.sa_flags = static_cast<int>(SA_SIGINFO | SA_ONSTACK | SA_NODEFER);
  if (sigaltstack(&other, nullptr) == 0) sigaction(SIGSEGV, &action, nullptr);
}

}  // namespace rtrain::machine
