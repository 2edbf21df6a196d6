#include "host/worker/profile/native_stack.h"

#include <dirent.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csetjmp>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <mutex>
#include <thread>

#include "host/base/text/text.h"
#include "host/machine/processes/native_frame.h"

namespace rtrain::worker {
namespace {

constexpr size_t kMaxThreads = 128;
constexpr std::chrono::milliseconds kWait{500};

struct Slot {
  std::atomic<int> tid{0};
  std::atomic<bool> done{false};
  int count = 0;
  std::array<void*, pages::kNativeFrames> addresses{};
};

// Static memory for the signal handler, which must not lock or allocate.
std::array<Slot, kMaxThreads> slots;
std::atomic<void (*)()> main_callback{nullptr};
std::atomic<SampleHandler> sample_handler{nullptr};
pid_t main_tid = 0;

thread_local volatile bool unwinding = false;
thread_local sigjmp_buf unwinder;

int own_tid() { return static_cast<int>(syscall(SYS_gettid)); }

// As backtrace(), but returns 0 where the unwinder gives up.
int safe_backtrace(void** out, int size) {
  int count = 0;
  if (sigsetjmp(unwinder, 1) == 0) {
    unwinding = true;
    count = backtrace(out, size);
  } else {
    count = 0;
  }
  unwinding = false;
  return count;
}

void on_signal(int, siginfo_t* info, void* context) {
  const int saved = errno;
  if (info->si_code == SI_QUEUE || info->si_code == SI_TIMER) {
    SampleHandler handler = sample_handler.load();
    if (handler != nullptr) handler(info->si_value.sival_int, context);
    errno = saved;
    return;
  }
  const int tid = own_tid();
  for (Slot& slot : slots) {
    if (slot.tid.load(std::memory_order_acquire) != tid) continue;
    slot.count = interrupted_frames(slot.addresses.data(), pages::kNativeFrames, context);
    slot.done.store(true, std::memory_order_release);
    break;
  }
  auto* callback = main_callback.load();
  if (tid == main_tid && callback != nullptr) callback();
  errno = saved;
}

std::string_view base_name(const char* path) {
  const std::string_view text = path == nullptr ? "" : path;
  return text.substr(text.rfind('/') + 1);
}

pages::NativeFrame resolve(void* address) {
  pages::NativeFrame frame;
  Dl_info info{};
  if (dladdr(address, &info) == 0) {
    frame.offset = reinterpret_cast<uint64_t>(address);
    return frame;
  }
  frame.module.set(base_name(info.dli_fname));
  frame.offset = reinterpret_cast<uint64_t>(address) - reinterpret_cast<uint64_t>(info.dli_fbase);
  if (info.dli_sname != nullptr) frame.function.set(info.dli_sname);
  return frame;
}

std::string frame_text(void* address) {
  const pages::NativeFrame frame = resolve(address);
  return machine::native_frame_text(frame.function.view(), frame.module.view(), frame.offset);
}

}  // namespace

int stack_signal() { return SIGRTMIN + 5; }

std::vector<int> other_threads() {
  std::vector<int> out;
  DIR* folder = opendir("/proc/self/task");
  if (folder == nullptr) return out;
  while (const dirent* entry = readdir(folder)) {
    const int tid = std::atoi(entry->d_name);
    if (tid > 0 && tid != own_tid()) out.push_back(tid);
  }
  closedir(folder);
  std::sort(out.begin(), out.end());
  return out;
}

std::string thread_name(int tid) {
  std::ifstream file(cat("/proc/self/task/", tid, "/comm"));
  std::string name;
  std::getline(file, name);
  return name;
}

int interrupted_frames(void** out, int size, const void* context) {
  const auto* interrupted = static_cast<const ucontext_t*>(context);
  const auto pc = static_cast<uintptr_t>(interrupted->uc_mcontext.gregs[REG_RIP]);
  const int count = safe_backtrace(out, size);
  void** end = out + count;
  void** first = std::find(out, end, reinterpret_cast<void*>(pc));
  return static_cast<int>(std::copy(first, end, out) - out);
}

bool read_safely(void (*read)(void*), void* data) {
  volatile bool has_read = false;
  if (sigsetjmp(unwinder, 1) == 0) {
    unwinding = true;
    read(data);
    has_read = true;
  }
  unwinding = false;
  return has_read;
}

void set_sample_handler(SampleHandler handler) { sample_handler = handler; }

bool interrupt_thread(int tid, int value) {
  siginfo_t info{};
  info.si_code = SI_QUEUE;
  info.si_pid = getpid();
  info.si_uid = getuid();
  info.si_value.sival_int = value;
  return syscall(SYS_rt_tgsigqueueinfo, getpid(), tid, stack_signal(), &info) == 0;
}

void install_stack_signal() {
  main_tid = own_tid();
  // The first call of backtrace() loads the unwinder, which a signal handler must not do.
  std::array<void*, 4> warm{};
  backtrace(warm.data(), static_cast<int>(warm.size()));
  struct sigaction action {};
  action.sa_sigaction = &on_signal;
  action.sa_flags = SA_RESTART | SA_ONSTACK | SA_SIGINFO;
  sigaction(stack_signal(), &action, nullptr);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, stack_signal());
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

std::vector<loop::ThreadStack> native_stacks(void (*on_main_thread)()) {
  static std::mutex one_at_a_time;
  const std::lock_guard lock(one_at_a_time);
  std::vector<int> tids = other_threads();
  if (tids.size() > kMaxThreads) tids.resize(kMaxThreads);
  main_callback = on_main_thread;
  for (size_t i = 0; i < tids.size(); ++i) {
    slots[i].done = false;
    slots[i].tid.store(tids[i], std::memory_order_release);
    syscall(SYS_tgkill, getpid(), tids[i], stack_signal());
  }
  const auto deadline = std::chrono::steady_clock::now() + kWait;
  std::vector<loop::ThreadStack> out;
  for (size_t i = 0; i < tids.size(); ++i) {
    while (!slots[i].done && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    loop::ThreadStack stack{.name = thread_name(tids[i]), .tid = tids[i], .frames = {}};
    const bool answered = slots[i].done.load(std::memory_order_acquire);
    if (answered) {
      for (int k = 0; k < slots[i].count; ++k) {
        stack.frames.push_back(frame_text(slots[i].addresses[static_cast<size_t>(k)]));
      }
      if (slots[i].count == 0) stack.frames.emplace_back("compiled Lua code");
    }
    slots[i].tid = 0;
    const bool has_ended = !answered && stack.name.empty();
    if (!has_ended) out.push_back(std::move(stack));
  }
  return out;
}

void leave_unwinder() {
  if (unwinding) siglongjmp(unwinder, 1);
}

int native_frames(std::array<pages::NativeFrame, pages::kNativeFrames>& out, int skip) {
  std::array<void*, pages::kNativeFrames> addresses{};
  const int count = safe_backtrace(addresses.data(), pages::kNativeFrames);
  int used = 0;
  for (int i = skip; i < count; ++i) {
    out[static_cast<size_t>(used++)] = resolve(addresses[static_cast<size_t>(i)]);
  }
  return used;
}

}  // namespace rtrain::worker
