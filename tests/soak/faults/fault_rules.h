// tests/soak/faults/fault_rules.h: the rules of RTRAIN_FAULTIO (libfaultio.cpp has their grammar).
//
// Allocates no memory and calls the kernel directly.
#pragma once

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace faultio {

inline constexpr const char* kCalls[] = {
    "open",
    "read",
    "pread",
    "write",
    "pwrite",
    "fsync",
    "fdatasync",
    "rename",
    "mkdir",
    "unlink",
    "rmdir",
    "ftruncate",
    "copy_file_range",
    "mmap",
    "memfd",
    "flock",
    "lock",
    "fork",
    "posix_spawn",
    "opendir",
    "socketpair",
    "pipe",
    "symlink",
    "fallocate",
    "clock_gettime",
    "statfs",
};
inline constexpr int kCallCount = sizeof(kCalls) / sizeof(kCalls[0]);
inline constexpr int kMaxRules = 16;

enum class What { kFail, kShort, kSlow, kSleep, kJump, kNfs };
enum class When { kNth, kFrom, kPercent };

struct Rule {
  uint64_t calls = 0;
  When when = When::kNth;
  int64_t n = 1;
  What what = What::kFail;
  int64_t argument = 0;
  char path[96] = "";
  int side = 0;  // 1: controller, 2: workers, 0: both
  int64_t rank = -1;
  std::atomic<int64_t> seen{0};
};

// Complete once is_ready() has returned true.
extern Rule rules[kMaxRules];
extern int rule_count;
extern bool is_worker;
extern int64_t own_rank;
extern uint64_t seed;

long raw(long number, auto... arguments) { return syscall(number, arguments...); }

// The position in kCalls; -1 for an unknown name.
int call_number(const char* name, size_t size);

// Whether this process has rules. The first call reads them; a call from another thread meanwhile
// returns false.
bool is_ready();

}  // namespace faultio
