#include "host/base/error.h"

#include <array>
#include <new>
#include <system_error>

#include "host/base/text/text.h"

namespace rtrain {
namespace {

struct Entry {
  Code code;
  std::string_view name;
  int exit;
};

constexpr std::array kEntries = {
    Entry{Code::kUser, "user", 1},
    Entry{Code::kArgument, "argument", 1},
    Entry{Code::kUsage, "usage", 2},
    Entry{Code::kConfig, "config", 3},
    Entry{Code::kEnvironment, "environment", 4},
    Entry{Code::kNotFound, "not_found", 2},
    Entry{Code::kUnsupported, "unsupported", 3},
    Entry{Code::kWorkerLost, "worker_lost", 5},
    Entry{Code::kPeerLost, "peer_lost", 5},
    Entry{Code::kTimeout, "timeout", 6},
    Entry{Code::kOutOfMemory, "out_of_memory", 4},
    Entry{Code::kCheckpoint, "checkpoint", 4},
    Entry{Code::kNotFinite, "not_finite", 1},
    Entry{Code::kPreempted, "preempted", 75},
    Entry{Code::kInterrupted, "interrupted", 130},
    Entry{Code::kTerminated, "terminated", 143},
    Entry{Code::kInternal, "internal", 70},
};

const Entry& entry_of(Code code) {
  for (const Entry& entry : kEntries) {
    if (entry.code == code) return entry;
  }
  return kEntries.back();
}

}  // namespace

std::string_view code_name(Code code) { return entry_of(code).name; }

std::optional<Code> code_from_name(std::string_view name) {
  for (const Entry& entry : kEntries) {
    if (entry.name == name) return entry.code;
  }
  return std::nullopt;
}

int exit_code(Code code) { return entry_of(code).exit; }

Error usage_error(std::string message) { return Error(Code::kUsage, std::move(message)); }

Error error_of(const std::exception& caught) {
  if (const auto* known = dynamic_cast<const Error*>(&caught)) return *known;
  if (dynamic_cast<const std::bad_alloc*>(&caught) != nullptr) {
    return Error(Code::kOutOfMemory, "there is no memory left (ulimit -v, or the machine's)");
  }
  if (const auto* refused = dynamic_cast<const std::system_error*>(&caught)) {
    const bool is_thread = refused->code() == std::errc::resource_unavailable_try_again;
    return Error(Code::kEnvironment, cat("the system refuses: ", refused->what(),
                                         is_thread ? " (processes and threads: ulimit -u, or "
                                                     "pids.max of the cgroup)"
                                                   : ""));
  }
  return Error(Code::kInternal, caught.what());
}

void check_failed(const char* expression, const char* file, int line) {
  throw Error(Code::kInternal, cat("internal check failed: ", expression, " (", file, ":", line,
                                   "). This is a bug of rtrain: please report it with the command "
                                   "that led here"));
}

}  // namespace rtrain
