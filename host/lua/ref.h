// host/lua/ref.h: a Lua value held by C++.
//
// The thread of its state owns it, and the state must outlive it. It keeps the main state, so it
// stays valid when the coroutine that made it is gone.
#pragma once

#include "host/lua/lua.h"

namespace rtrain::lua {

class Ref {
 public:
  Ref() = default;
  // Pops the value at the top of the stack and keeps it.
  explicit Ref(lua_State* L);
  Ref(Ref&& other) noexcept;
  Ref& operator=(Ref&& other) noexcept;
  ~Ref() { clear(); }

  // Pushes the value, or nil when the Ref is empty.
  void push(lua_State* L) const;
  void clear();
  explicit operator bool() const { return key_ != LUA_NOREF; }

 private:
  lua_State* main_ = nullptr;
  int key_ = LUA_NOREF;
};

}  // namespace rtrain::lua
