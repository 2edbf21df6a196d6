// host/store/claim/run_owner.h: the process that owns a run, for messages.
//
// A process id alone is not unique: two containers that share a volume may both have a process 7.
// So it is stored with the node, its boot id and the process's namespace.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace rtrain::store {

struct RunOwner {
  int64_t pid = 0;
  std::string host;
  std::string boot_id;
  std::string pid_namespace;
  int64_t since_ms = 0;

  static RunOwner of_this_process();
  std::string to_json() const;
  // Missing or invalid members leave their fields empty.
  static RunOwner from_json(std::string_view text);
  // "pid 71 on gpu-3 (since 2026-11-21T14:03:05.123Z)"; "another controller" if nothing is known.
  std::string to_text() const;
};

}  // namespace rtrain::store
