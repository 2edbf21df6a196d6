// host/cli/processes/interrupt.h: Ctrl-C ends what Lua runs, and not the process.
#pragma once

#include <signal.h>

#include <initializer_list>
#include <utility>
#include <vector>

#include "host/lua/lua.h"

namespace rtrain {

// While it lives, SIGINT, or each of these signals, raises an Error(kInterrupted) in the state at
// its next instruction. A call that runs no Lua, such as one long operator, goes on to its end; a
// second SIGINT says so. Main thread only, one at a time.
class Interrupt {
 public:
  explicit Interrupt(lua_State* L, std::initializer_list<int> signals = {SIGINT});
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

 private:
  std::vector<std::pair<int, struct sigaction>> before_;
};

}  // namespace rtrain
