// host/lua/state.h: a Lua state with rtrain's module searcher and errors.
//
// A state belongs to the thread that made it. Library code (embedded modules) runs in an
// environment where reading or assigning an undeclared global is an error; the user's script has
// the ordinary globals.
#pragma once

#include <string>
#include <vector>

#include "host/lua/lua.h"
#include "host/lua/main_state.h"

namespace rtrain::lua {

class State {
 public:
  // Throws Error(kOutOfMemory) when Lua cannot be started.
  State();
  ~State();
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  lua_State* get() const { return L_; }
  operator lua_State*() const { return L_; }

  // Makes `require(name)` call the function, which pushes the module.
  void preload(const char* name, lua_CFunction open);

 private:
  lua_State* L_;
};

// Pushes the environment of library code.
void push_library_env(lua_State* L);

// Puts the folder in front of package.path, so that `require` finds modules next to the script.
void add_script_folder(lua_State* L, const std::string& folder);

// Pushes the file's chunk, without running it, and sets the global `arg` (arg[0] = path). Throws
// Error(kUsage) when the file cannot be read; kUser with the position when it does not parse, or
// reads globals that it never sets (unset_globals.h).
void load_file(lua_State* L, const std::string& path, const std::vector<std::string>& args);

// Loads and runs the file with the arguments as `...` and in the global `arg`.
// Throws what load_file throws, and Error(kUser) from the script.
void run_file(lua_State* L, const std::string& path, const std::vector<std::string>& args);

// Loads and runs code from the command line in the same way, with arg[0] = "-e". Modules are
// searched for in the current folder.
void run_code(lua_State* L, const std::string& code, const std::vector<std::string>& args);

}  // namespace rtrain::lua
