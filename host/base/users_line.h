// host/base/users_line.h: lines of the user's own code among those of the executable's modules.
// Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace rtrain {

// Whether the line, "train.lua:12", is of the user's own code.
inline bool is_users_line(std::string_view line) { return !line.starts_with("rtrain://"); }

// The innermost line of the user's own code, else the innermost of all; empty without lines.
inline std::string users_line(const std::vector<std::string>& innermost_first) {
  for (const std::string& line : innermost_first) {
    if (is_users_line(line)) return line;
  }
  return innermost_first.empty() ? "" : innermost_first.front();
}

}  // namespace rtrain
