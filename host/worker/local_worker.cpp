#include "host/worker/local_worker.h"

#include "host/lua/guard.h"
#include "host/lua/main_state.h"

namespace rtrain {
namespace {

int raise_interrupted(lua_State*) {
  throw Error(Code::kInterrupted, "the run is being ended, and with it the train function");
}

// Once: what the user's code does with the error is its own business.
void interrupt_hook(lua_State* L, lua_Debug*) {
  lua_sethook(L, nullptr, 0, 0);
  lua_pushcfunction(L, &guarded<&raise_interrupted>);
  lua_call(L, 0, 0);
}

}  // namespace

LocalWorker::LocalWorker(lua_State* L, int channel_fd, bool is_joined)
    : main_(main_state(L)), pump_(L) {
  pump_state_ = lua_newthread(L);
  pump_thread_ = Ref(L);
  worker_ = std::make_unique<WorkerProcess>(
      LocalSeat{channel_fd, is_joined, [this] { pump(); }, [this] { interrupt(); }});
  try {
    worker_->wait_for_start();
  } catch (const Error&) {
    disarm();
    throw;
  }
}

LocalWorker::~LocalWorker() { leave(); }

// Control thread: lua_sethook is made to be called from another thread than the one that runs Lua.
void LocalWorker::interrupt() {
  constexpr int kEverywhere = LUA_MASKCALL | LUA_MASKRET | LUA_MASKLINE | LUA_MASKCOUNT;
  const std::lock_guard lock(mutex_);
  if (armed_) lua_sethook(main_, &interrupt_hook, kEverywhere, 1);
}

void LocalWorker::disarm() {
  const std::lock_guard lock(mutex_);
  if (armed_) lua_sethook(main_, nullptr, 0, 0);
  armed_ = false;
}

void LocalWorker::leave() {
  disarm();
  worker_.reset();
}

void LocalWorker::pump() {
  pump_.push(pump_state_);
  protected_call(pump_state_, 0, 0);
}

}  // namespace rtrain
