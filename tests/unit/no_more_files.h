// tests/unit/no_more_files.h: a process that has no descriptor left.
#pragma once

#include <sys/resource.h>

#include <ctime>

namespace rtrain {

// While it lives, this process cannot open files. The standard streams stay within the limit:
// poll() refuses more descriptors than that.
class NoMoreFiles {
 public:
  NoMoreFiles() {
    getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit none{.rlim_cur = 3, .rlim_max = before_.rlim_max};
    setrlimit(RLIMIT_NOFILE, &none);
  }
  ~NoMoreFiles() { setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

// The time that this process has computed, on all threads.
inline double cpu_s() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

}  // namespace rtrain
