// host/store/claim/run_owner.h: which process a run belongs to, for messages.
//
// A process id says little by itself: two containers share a volume and both have a process 7. So
// it goes with the host, its boot and the process's namespace.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace rtrain {

struct RunOwner {
  int64_t pid = 0;
  std::string host;
  std::string boot_id;
  std::string pid_namespace;
  int64_t since_ms = 0;

  static RunOwner of_this_process();
  std::string to_json() const;
  // What is missing or is not such a text leaves its fields empty.
  static RunOwner from_json(std::string_view text);
  // "pid 71 on gpu-3 (since 2026-11-21T14:03:05.123Z)"; "another controller" when nothing is known.
  std::string to_text() const;
};

}  // namespace rtrain
