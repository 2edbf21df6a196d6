#include "host/cli/processes/interrupt.h"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <string_view>

#include "host/lua/guard.h"

namespace rtrain::cli {
namespace {

std::atomic<lua_State*> interrupted_state{nullptr};
std::atomic<bool> is_asked{false};
pthread_t lua_thread;

int raise_interrupt(lua_State*) { throw Error(Code::kInterrupted, "interrupted"); }

// Raises only once: afterwards the user's code may handle the error as it wants.
void interrupt_line_hook(lua_State* L, lua_Debug*) {
  lua_sethook(L, nullptr, 0, 0);
  is_asked = false;
  lua::push_function<&raise_interrupt>(L);
  lua_call(L, 0, 0);
}

// A signal handler. lua_sethook may be called from one.
void ask_for_interrupt(int number) {
  constexpr std::string_view kBusy =
      "rtrain: what runs is not Lua: it is stopped as soon as it comes back; Ctrl-\\ ends the "
      "program\n";
  const int error = errno;
  lua_State* L = interrupted_state;
  if (L != nullptr && pthread_equal(pthread_self(), lua_thread) == 0) {
    pthread_kill(lua_thread, number);
  } else if (L != nullptr) {
    if (is_asked) {
      [[maybe_unused]] const auto written = ::write(STDERR_FILENO, kBusy.data(), kBusy.size());
    }
    is_asked = true;
    lua_sethook(L, &interrupt_line_hook, LUA_MASKCALL | LUA_MASKRET | LUA_MASKLINE | LUA_MASKCOUNT,
                1);
  }
  errno = error;
}

}  // namespace

Interrupt::Interrupt(lua_State* L, std::initializer_list<int> signals) {
  lua_thread = pthread_self();
  is_asked = false;
  interrupted_state = L;
  struct sigaction action = {};
  action.sa_handler = &ask_for_interrupt;
  for (const int number : signals) {
    struct sigaction before = {};
    sigaction(number, &action, &before);
    before_.emplace_back(number, before);
  }
}

Interrupt::~Interrupt() {
  for (const auto& [number, before] : before_) sigaction(number, &before, nullptr);
  lua_State* L = interrupted_state.exchange(nullptr);
  if (is_asked) lua_sethook(L, nullptr, 0, 0);
}

}  // namespace rtrain::cli
