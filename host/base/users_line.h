// host/base/users_line.h: distinguishes lines of the user's code from lines of the executable's
// modules. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace rtrain {

// Whether the line, such as "train.lua:12", is in the user's code.
inline bool is_users_line(std::string_view line) { return !line.starts_with("rtrain://"); }

// The innermost line of the user's code, else the innermost line; empty without lines.
inline std::string users_line(const std::vector<std::string>& innermost_first) {
  for (const std::string& line : innermost_first) {
    if (is_users_line(line)) return line;
  }
  return innermost_first.empty() ? "" : innermost_first.front();
}

}  // namespace rtrain
