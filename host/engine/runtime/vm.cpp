#include "host/engine/runtime/vm.h"

#include <new>

#include "host/base/error.h"
#include "host/engine/runtime/open.h"
#include "host/lua/guard.h"

namespace rtrain::engine {
namespace {

const char kVmKey = 0;
thread_local Vm* current = nullptr;          // the Vm that this thread used last
std::atomic<uint64_t>* operators = nullptr;  // the host's counter of operators, if it has one

int close_vm(lua_State* L) {
  auto* slot = static_cast<Vm**>(lua_touserdata(L, 1));
  if (current == *slot) current = nullptr;
  *(*slot)->open = false;
  delete *slot;
  *slot = nullptr;
  return 0;
}

Vm* find_vm(lua_State* L) {
  lua_pushlightuserdata(L, const_cast<char*>(&kVmKey));
  lua_rawget(L, LUA_REGISTRYINDEX);
  auto** slot = static_cast<Vm**>(lua_touserdata(L, -1));
  lua_pop(L, 1);
  return slot == nullptr ? nullptr : *slot;
}

}  // namespace

// Every operator calls this function, so it counts operators: the host uses the count to see that
// this process makes progress.
Vm& vm(lua_State* L) {
  if (std::atomic<uint64_t>* count = operators) {
    count->store(count->load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  Vm* found = current;
  if (found != nullptr && found->registry == lua_topointer(L, LUA_REGISTRYINDEX)) return *found;
  found = find_vm(L);
  if (found == nullptr) throw Error(Code::kInternal, "the engine is not open in this Lua state");
  current = found;
  return *found;
}

Vm& create_vm(lua_State* L, const api::HostApi* host) {
  if (operators != host->operators) operators = host->operators;
  lua_pushlightuserdata(L, const_cast<char*>(&kVmKey));
  auto** slot = static_cast<Vm**>(lua_newuserdata(L, sizeof(void*)));
  *slot = new Vm();
  lua_createtable(L, 0, 1);
  lua::push_function<&close_vm>(L);
  lua_setfield(L, -2, "__gc");
  lua_setmetatable(L, -2);
  Vm& out = **slot;
  out.registry = lua_topointer(L, LUA_REGISTRYINDEX);
  out.host = host;
  lua_rawset(L, LUA_REGISTRYINDEX);
  current = &out;
  return out;
}

const api::HostApi& host(lua_State* L) { return *vm(L).host; }

}  // namespace rtrain::engine
