#include "host/machine/processes/open_files.h"

#include <dirent.h>
#include <sys/resource.h>

#include <atomic>
#include <cstdint>

#include "host/base/error.h"
#include "host/base/text/text.h"

namespace rtrain::machine {
namespace {

// Returns 0 when the table cannot be read.
int files_open_now() {
  DIR* table = ::opendir("/proc/self/fd");
  if (table == nullptr) return 0;
  int count = -3;  // without ".", ".." and the folder itself
  while (::readdir(table) != nullptr) ++count;
  ::closedir(table);
  return count;
}

std::atomic<int> reserved{0};

}  // namespace

FileReserve::FileReserve(int count) : count_(count) {
  const auto needed = static_cast<rlim_t>(files_open_now()) + static_cast<rlim_t>(reserved.load()) +
                      static_cast<rlim_t>(count);
  struct rlimit limit {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < needed) {
    const rlim_t allowed = limit.rlim_max;
    limit.rlim_cur = needed;
    if (allowed < needed || ::setrlimit(RLIMIT_NOFILE, &limit) != 0) {
      throw Error(
          Code::kEnvironment,
          cat("the workers need ", static_cast<int64_t>(needed), " open files, allowed are ",
              static_cast<int64_t>(allowed), ": raise the limit (ulimit -n)"));
    }
  }
  reserved += count;
}

FileReserve::~FileReserve() { reserved -= count_; }

}  // namespace rtrain::machine
