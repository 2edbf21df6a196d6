// host/lua/traceback.h: where on the stack an error arose: the user's lines, innermost first.
//
// Frames of embedded modules are counted, not shown. A function that ended in a call, `return
// f(x)`, has no frame any more; its line comes from base/errors/tail_call.lua where it can be
// known. A method that was called with a dot is found by base/errors/method_call.lua. What an error
// arose in apart from its lines (a module's forward) is given by the function errors.context of
// base.errors, where there is one, and the tensors of the script's function by errors.locals.
#pragma once

#include <string>

#include "host/lua/lua.h"

namespace rtrain::lua {

struct Traceback {
  std::string where;  // the innermost of the user's lines, "train.lua:12"; "" without one
  std::string text;   // one line a frame; of a long stack its beginning and its end
  std::string slip;   // what is wrong with a method that was called with a dot; "" if there is none
};

// `level` is the first frame looked at. `operation` is what failed ("linear"), as far as it is
// known: it tells one call of a function from another. Raises nothing.
Traceback make_traceback(lua_State* L, int level, const std::string& operation);

// The position of the function that a stack overflow in compiled code comes from, of which Lua
// tells nothing (base/errors/recursion.lua); "" when it is not known. Raises nothing.
std::string recursion_place(lua_State* L);

// The message of an error of Lua's own that arose at the level, with what it leaves out: the name
// that was meant, the method to call (base/errors/hint.lua). Raises nothing.
std::string with_hint(lua_State* L, int level, const std::string& message);

}  // namespace rtrain::lua
