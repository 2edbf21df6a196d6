#include "host/worker/profile/thread_clock.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "host/base/error.h"
#include "host/base/files/fd.h"
#include "host/base/text/text.h"

namespace rtrain::worker {
namespace {

// The clock's number in the kernel's encoding.
clockid_t clock_of(int tid) {
  constexpr unsigned kPerThreadScheduled = 6;
  return static_cast<clockid_t>((~static_cast<unsigned>(tid) << 3U) | kPerThreadScheduled);
}

}  // namespace

double clock_s(clockid_t clock) {
  timespec now{};
  if (clock_gettime(clock, &now) != 0) return -1;
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double thread_cpu_s(int tid) { return clock_s(clock_of(tid)); }

bool has_processor(int tid) {
  const double before_s = thread_cpu_s(tid);
  return thread_cpu_s(tid) != before_s;
}

// "CPU-NS READY-NS SLICES"; zeros where the kernel does not count.
std::optional<double> thread_ready_s(int tid) {
  const Fd file(open(cat("/proc/self/task/", tid, "/schedstat").c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 96> text{};
  if (file.get() < 0 || read(file.get(), text.data(), text.size() - 1) <= 0) return std::nullopt;
  unsigned long long cpu_ns = 0;
  unsigned long long ready_ns = 0;
  if (std::sscanf(text.data(), "%llu %llu", &cpu_ns, &ready_ns) != 2) return std::nullopt;
  return 1e-9 * static_cast<double>(ready_ns);
}

// Uses system calls, since before glibc 2.34 the C library's functions are in another library.
CpuTimer::CpuTimer(int tid, int signal, int value) {
  sigevent event{};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = signal;
  event.sigev_value.sival_int = value;
  event._sigev_un._tid = tid;
  int timer = 0;
  if (syscall(SYS_timer_create, clock_of(tid), &event, &timer) == 0) {
    timer_ = timer;
  } else if (errno == EAGAIN) {
    throw Error(Code::kEnvironment,
                cat("thread ", tid, " gets no timer for samples: ", std::strerror(errno),
                    "; ulimit -i says how many signals may wait"));
  }
}

CpuTimer::~CpuTimer() {
  if (timer_) syscall(SYS_timer_delete, *timer_);
}

void CpuTimer::set(double cpu_s) const {
  if (!timer_) return;
  itimerspec at{};
  double seconds = 0;
  at.it_value.tv_nsec = static_cast<long>(1e9 * std::modf(cpu_s, &seconds));
  at.it_value.tv_sec = static_cast<time_t>(seconds);
  syscall(SYS_timer_settime, *timer_, TIMER_ABSTIME, &at, nullptr);
}

}  // namespace rtrain::worker
