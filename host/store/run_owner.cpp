#include "host/store/run_owner.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <fstream>
#include <sstream>

#include "host/base/clock.h"
#include "host/base/error.h"
#include "host/base/json.h"
#include "host/base/machine.h"
#include "host/base/text.h"

namespace rtrain {
namespace {

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::string link_target(const char* path) {
  std::array<char, 128> target{};
  const ssize_t n = ::readlink(path, target.data(), target.size());
  return n > 0 ? std::string(target.data(), static_cast<size_t>(n)) : std::string();
}

// Field 22 of /proc/<pid>/stat; 0 when there is no such process. The name, field 2, may hold blanks
// and parentheses.
int64_t process_started(int64_t pid) {
  const std::string line = first_line(cat("/proc/", pid, "/stat"));
  const size_t name_end = line.rfind(')');
  if (name_end == std::string::npos) return 0;
  std::istringstream fields(line.substr(name_end + 1));
  std::string field;
  for (int number = 3; number <= 22; ++number) fields >> field;
  return fields ? std::atoll(field.c_str()) : 0;
}

}  // namespace

RunOwner RunOwner::of_this_process() {
  const int64_t pid = ::getpid();
  return {.pid = pid,
          .process_started = rtrain::process_started(pid),
          .host = hostname(),
          .boot_id = first_line("/proc/sys/kernel/random/boot_id"),
          .pid_namespace = link_target("/proc/self/ns/pid"),
          .since_ms = now_ms()};
}

std::string RunOwner::to_json() const {
  return rtrain::to_json(Map{{"pid", pid},
                             {"process_started", process_started},
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
          .process_started = v["process_started"].int_or(0),
          .host = v["host"].string_or(""),
          .boot_id = v["boot_id"].string_or(""),
          .pid_namespace = v["pid_namespace"].string_or(""),
          .since_ms = v["since"].int_or(0)};
}

std::string RunOwner::to_text() const {
  if (pid == 0) return "another controller";
  return cat("pid ", pid, " on ", host, " (since ", time_text(since_ms), ")");
}

bool RunOwner::is_certainly_dead() const {
  const RunOwner here = of_this_process();
  const bool same_place = !boot_id.empty() && boot_id == here.boot_id && !pid_namespace.empty() &&
                          pid_namespace == here.pid_namespace;
  if (!same_place) return false;
  if (::kill(static_cast<pid_t>(pid), 0) != 0) return errno == ESRCH;
  const int64_t started = rtrain::process_started(pid);  // 0: /proc hides other users' processes
  return started != 0 && started != process_started;
}

}  // namespace rtrain
