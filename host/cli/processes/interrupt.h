// host/cli/processes/interrupt.h: makes Ctrl-C end the running Lua code instead of the process.
#pragma once

#include <signal.h>

#include <initializer_list>
#include <utility>
#include <vector>

#include "host/lua/lua.h"

namespace rtrain::cli {

// While it exists, SIGINT, or each of `signals`, raises an Error(kInterrupted) in the Lua state at
// its next instruction. A call that runs no Lua, such as a long operator, runs to its end; a second
// SIGINT prints a line that says so. Main thread only, one at a time.
class Interrupt {
 public:
  explicit Interrupt(lua_State* L, std::initializer_list<int> signals = {SIGINT});
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

 private:
  std::vector<std::pair<int, struct sigaction>> before_;
};

}  // namespace rtrain::cli
