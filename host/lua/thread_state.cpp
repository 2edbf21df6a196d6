#include "host/lua/thread_state.h"

namespace rtrain::lua {
namespace {

// It is in the executable, so a signal handler reads it without calling the dynamic linker.
constinit thread_local lua_State* current = nullptr;

}  // namespace

void set_thread_state(lua_State* L) { current = L; }

lua_State* thread_state() { return current; }

}  // namespace rtrain::lua
