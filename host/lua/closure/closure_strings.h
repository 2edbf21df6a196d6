// host/lua/closure/closure_strings.h: the strings of a closure, each written once and then referred
// to by its number.
//
// Keeps tables on the Lua stack: lives no longer than the state's current C call.
#pragma once

#include <cstdint>

#include "host/lua/closure/closure_format.h"
#include "host/lua/lua.h"

namespace rtrain::lua {

class ClosureStrings {
 public:
  explicit ClosureStrings(lua_State* L);
  ClosureStrings(const ClosureStrings&) = delete;
  ClosureStrings& operator=(const ClosureStrings&) = delete;

  // The number of the string at the top of the stack, which stays there. A new one has the number
  // that count() was before.
  uint64_t number_of_top();
  uint64_t count() const { return count_; }

  void write(ByteWriter& out) const;

 private:
  lua_State* L_;
  int numbers_;  // stack positions: string → number
  int texts_;    // number + 1 → string
  uint64_t count_ = 0;
};

}  // namespace rtrain::lua
