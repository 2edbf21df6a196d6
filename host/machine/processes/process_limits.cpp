#include "host/machine/processes/process_limits.h"

#include <sys/resource.h>

#include <cstdint>
#include <optional>

#include "host/base/text/text.h"

namespace rtrain::machine {
namespace {

std::optional<int64_t> limit_kib(int resource) {
  rlimit limit{};
  if (getrlimit(static_cast<__rlimit_resource_t>(resource), &limit) != 0) return std::nullopt;
  if (limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  return static_cast<int64_t>(limit.rlim_cur >> 10);
}

}  // namespace

std::string address_limit_text() {
  const auto kib = limit_kib(RLIMIT_AS);
  return kib ? cat(" (`ulimit -v` allows a process ", *kib, " KiB of addresses)") : "";
}

std::string file_size_limit_text() {
  const auto kib = limit_kib(RLIMIT_FSIZE);
  return kib ? cat(" (`ulimit -f` allows files of ", *kib, " KiB)") : "";
}

}  // namespace rtrain::machine
