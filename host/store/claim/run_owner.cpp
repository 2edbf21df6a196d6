#include "host/store/claim/run_owner.h"

#include <unistd.h>

#include <array>
#include <fstream>

#include "host/base/clock.h"
#include "host/base/codec/json.h"
#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/machine/machine.h"

namespace rtrain::store {
namespace {

std::string boot_id() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string line;
  std::getline(file, line);
  return line;
}

std::string link_target(const char* path) {
  std::array<char, 128> target{};
  const ssize_t n = ::readlink(path, target.data(), target.size());
  return n > 0 ? std::string(target.data(), static_cast<size_t>(n)) : std::string();
}

}  // namespace

RunOwner RunOwner::of_this_process() {
  return {.pid = ::getpid(),
          .host = machine::hostname(),
          .boot_id = store::boot_id(),
          .pid_namespace = link_target("/proc/self/ns/pid"),
          .since_ms = now_ms()};
}

std::string RunOwner::to_json() const {
  return rtrain::to_json(Map{{"pid", pid},
                             {"host", host},
                             {"boot_id", boot_id},
                             {"pid_namespace", pid_namespace},
                             {"since", since_ms}});
}

RunOwner RunOwner::from_json(std::string_view text) {
  Value v;
  try {
    v = rtrain::from_json(text);
  } catch (const Error&) {
    return {};
  }
  if (!v.is_map()) return {};
  return {.pid = v["pid"].int_or(0),
          .host = v["host"].string_or(""),
          .boot_id = v["boot_id"].string_or(""),
          .pid_namespace = v["pid_namespace"].string_or(""),
          .since_ms = v["since"].int_or(0)};
}

std::string RunOwner::to_text() const {
  if (pid == 0) return "another controller";
  return cat("pid ", pid, " on ", host, " (since ", time_text(since_ms), ")");
}

}  // namespace rtrain::store
