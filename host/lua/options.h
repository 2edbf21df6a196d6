// host/lua/options.h: the option table of an engine function: {rank = 0, world_size = 2}.
#pragma once

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "host/lua/lua.h"

namespace rtrain::lua {

// Reads the table at an index, which must stay on the stack; nil counts as an empty table. If the
// value has the wrong type, every reader throws Error(kArgument), which names the function and the
// option.
class Options {
 public:
  // Throws Error(kArgument) with "did you mean" for an unknown option.
  Options(lua_State* L, int index, std::string_view function,
          std::initializer_list<const char*> known);

  std::string text(const char* name, std::string_view fallback) const;
  double number(const char* name, double fallback) const;
  int64_t integer(const char* name, int64_t fallback) const;
  bool boolean(const char* name, bool fallback) const;
  std::chrono::milliseconds seconds(const char* name, std::chrono::milliseconds fallback) const;
  // Pushes the value, or nil when the option is absent.
  void push(const char* name) const;

 private:
  // Pushes the value. When the option is absent, pushes nothing and returns false.
  bool push_present(const char* name) const;
  [[noreturn]] void refuse(const char* name, std::string_view wanted) const;

  lua_State* L_;
  int index_;
  std::string function_;
};

}  // namespace rtrain::lua
