#include "host/base/address_limit.h"

#include <sys/resource.h>

#include "host/base/text.h"

namespace rtrain {

std::string address_limit_text() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return "";
  return cat(" (`ulimit -v` allows a process ", limit.rlim_cur >> 10, " KiB of addresses)");
}

}  // namespace rtrain
