#include "host/machine/processes/open_files.h"

#include <dirent.h>
#include <sys/resource.h>

#include "host/base/error.h"
#include "host/base/text/text.h"

namespace rtrain::machine {
namespace {

// 0 when the table cannot be looked at.
int files_open_now() {
  DIR* table = ::opendir("/proc/self/fd");
  if (table == nullptr) return 0;
  int count = -3;  // "." and ".." and the folder itself
  while (::readdir(table) != nullptr) ++count;
  ::closedir(table);
  return count;
}

}  // namespace

void provide_open_files(int count) {
  const auto needed = static_cast<rlim_t>(files_open_now()) + static_cast<rlim_t>(count);
  struct rlimit limit {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= needed) return;
  const rlim_t allowed = limit.rlim_max;
  limit.rlim_cur = needed;
  if (allowed >= needed && ::setrlimit(RLIMIT_NOFILE, &limit) == 0) return;
  throw Error(Code::kEnvironment,
              cat("the workers need ", static_cast<int64_t>(needed), " open files, allowed are ",
                  static_cast<int64_t>(allowed), ": raise the limit (ulimit -n)"));
}

}  // namespace rtrain::machine
