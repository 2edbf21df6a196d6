// host/cli/train/repl_object.h: the Lua object that interprets what is typed, in a Lua state with
// the modules of scripts. Main thread only.
#pragma once

#include "host/base/value.h"
#include "host/lua/ref.h"
#include "host/lua/state.h"

namespace rtrain::cli {

class ReplObject {
 public:
  // Makes an object of the class that the module returns. Its arguments are ReplOptions with the
  // fields of `options`, and what `push_more` pushes, which returns the count.
  explicit ReplObject(const char* module, const Map& options = {},
                      int (*push_more)(lua_State* L) = nullptr);

  lua::State& state() { return state_; }
  // Pushes the method and its self.
  void push_method(const char* name);
  // Pops the compiled chunk of a text, or another value for none, and the function below it, which
  // it calls without arguments.
  void run();

 private:
  lua::State state_;
  lua::Ref object_;
};

}  // namespace rtrain::cli
