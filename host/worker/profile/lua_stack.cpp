#include "host/worker/profile/lua_stack.h"

#include <time.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "host/lua/thread_state.h"

namespace rtrain::worker {
namespace {

constexpr int kAnyEvent = LUA_MASKCALL | LUA_MASKRET | LUA_MASKLINE | LUA_MASKCOUNT;

// The hook of one thread. Only the thread's signal handlers and its hook use it.
struct Hooked {
  lua_Hook hook = nullptr;  // the hook that was set before
  int mask = 0;
  int count = 0;
  volatile bool is_running = false;
  std::array<LuaStack*, 2> waiting{};
};
constinit thread_local Hooked hooked;

void copy(const char* from, char* to, size_t size) {
  const size_t used = std::min(std::strlen(from), size - 1);
  std::memcpy(to, from, used);
  to[used] = '\0';
}

double thread_s() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

void add_frames(lua_State* L, LuaStack& out) {
  lua_Debug info;
  for (int level = 0; out.count < LuaStack::kFrames && lua_getstack(L, level, &info) != 0;
       ++level) {
    if (lua_getinfo(L, "Sln", &info) == 0 || info.currentline < 0) continue;
    LuaFrame& frame = out.frames[static_cast<size_t>(out.count++)];
    copy(info.short_src, frame.source.data(), frame.source.size());
    copy(info.name == nullptr ? "" : info.name, frame.name.data(), frame.name.size());
    frame.line = info.currentline;
  }
}

void on_hook(lua_State* L, lua_Debug*) {
  hooked.is_running = true;
  const double begin_s = thread_s();
  lua_sethook(L, hooked.hook, hooked.mask, hooked.count);
  for (LuaStack*& place : hooked.waiting) {
    LuaStack* out = std::exchange(place, nullptr);
    if (out == nullptr || !out->wanted.exchange(false)) continue;
    out->count = 0;
    add_frames(L, *out);
    // A coroutine: adds the frames of the main state, which has resumed it.
    if (lua_State* main = lua::thread_state(); main != L && main != nullptr) add_frames(main, *out);
    out->cost_s = thread_s() - begin_s;
    out->done.store(true, std::memory_order_release);
  }
  hooked.is_running = false;
}

}  // namespace

// Sets a hook from a signal handler, as lua.c does at Ctrl-C.
bool write_at_next_instruction(LuaStack& out) {
  lua_State* L = lua::thread_state();
  if (L == nullptr || hooked.is_running) return false;
  LuaStack** place = std::ranges::find(hooked.waiting, &out);
  if (place == hooked.waiting.end()) {
    place = std::ranges::find(hooked.waiting, static_cast<LuaStack*>(nullptr));
  }
  if (place == hooked.waiting.end()) return false;
  *place = &out;
  if (lua_gethook(L) == &on_hook) return true;
  hooked.hook = lua_gethook(L);
  hooked.mask = lua_gethookmask(L);
  hooked.count = lua_gethookcount(L);
  lua_sethook(L, &on_hook, kAnyEvent, 1);
  return true;
}

void write_frames(LuaStack& out) {
  out.count = 0;
  if (lua_State* L = lua::thread_state()) add_frames(L, out);
  out.done.store(true, std::memory_order_release);
}

}  // namespace rtrain::worker
