// host/engine/runtime/line_range.h: the user's Lua line round each operator that it calls, as a
// range in the recording.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>

#include "host/lua/lua.h"

namespace rtrain {

class ProfileRange;

// While a recording wants lines.
inline std::atomic<bool> records_lines{false};

// Such ranges have names of their own: they are not calls.
inline constexpr std::string_view kLinePrefix = "lua: ";
// The user's line that is running, "train.lua:12"; empty where none is.
std::string lua_line(lua_State* L);

// Brackets an operator with its line, for its lifetime.
class LineRange {
 public:
  explicit LineRange(lua_State* L) {
    if (records_lines.load(std::memory_order_relaxed)) begin(L);
  }
  ~LineRange() {
    if (range_ != nullptr) end();
  }
  LineRange(const LineRange&) = delete;
  LineRange& operator=(const LineRange&) = delete;

 private:
  void begin(lua_State* L);
  void end();

  ProfileRange* range_ = nullptr;
};

}  // namespace rtrain
