// host/lua/closure/closure_strings.h: the strings of a closure, each written once and then referred
// to by its number.
//
// It keeps tables on the Lua stack, so it may live only as long as the state's current C call.
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

  // Returns the number of the string at the top of the stack, which stays there. A new string gets
  // the number that count() returned before.
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
