// host/engine/runtime/line_range.h: adds the script's Lua line to a recording, as a range around
// each operator.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>

#include "host/lua/lua.h"

namespace rtrain::engine {

class ProfileRange;

// Set while a recording wants lines.
inline std::atomic<bool> records_lines{false};

// Prefix of the ranges' names, which tells them from calls.
inline constexpr std::string_view kLinePrefix = "lua: ";
// The running line of the script, "train.lua:12"; empty if no script is running.
std::string lua_line(lua_State* L);

// While it exists, the range of the current line is open, or of the line that is given.
class LineRange {
 public:
  explicit LineRange(lua_State* L) {
    if (records_lines.load(std::memory_order_relaxed)) begin(lua_line(L));
  }
  explicit LineRange(const std::string& line) {
    if (records_lines.load(std::memory_order_relaxed)) begin(line);
  }
  ~LineRange() {
    if (range_ != nullptr) end();
  }
  LineRange(const LineRange&) = delete;
  LineRange& operator=(const LineRange&) = delete;

 private:
  void begin(const std::string& line);
  void end();

  ProfileRange* range_ = nullptr;
};

}  // namespace rtrain::engine
