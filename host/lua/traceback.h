// host/lua/traceback.h: where on the stack an error arose: the user's lines, innermost first.
//
// Frames of embedded modules are counted, not shown. A function that ended in a call, `return
// f(x)`, has no frame any more; base/errors/tail_call.lua finds its line where it can.
// base/errors/method_call.lua finds a method that was called with a dot. The function
// errors.context of base.errors, where it exists, names what else the error arose in (a module's
// forward), and errors.locals the tensors of the script's function.
#pragma once

#include <string>

#include "host/lua/lua.h"

namespace rtrain::lua {

struct Traceback {
  std::string where;  // the innermost of the user's lines, "train.lua:12"; "" if there are none
  std::string text;   // one line a frame; of a long stack only its beginning and its end
  std::string slip;   // what is wrong with a method that was called with a dot; "" if there is none
};

// `level` is the first frame looked at. `operation` is what failed ("linear"), as far as it is
// known: it tells one call of a function from another. Never raises.
Traceback make_traceback(lua_State* L, int level, const std::string& operation);

// Returns the position of the function that caused a stack overflow in compiled code, since Lua
// does not tell it (base/errors/recursion.lua); "" when it is not known. Never raises.
std::string recursion_place(lua_State* L);

// Adds to the message of an error of Lua's own that arose at the level what Lua leaves out: the
// name that was meant, the method to call (base/errors/hint.lua). Never raises.
std::string with_hint(lua_State* L, int level, const std::string& message);

}  // namespace rtrain::lua
