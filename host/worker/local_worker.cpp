#include "host/worker/local_worker.h"

#include <cstdlib>
#include <cstring>
#include <iostream>
#include <string_view>
#include <thread>

#include "host/base/text/text.h"
#include "host/lua/guard.h"
#include "host/lua/libraries/engine_loader.h"
#include "host/lua/main_state.h"
#include "host/machine/network.h"

namespace rtrain::worker {
namespace {

int raise_interrupted(lua_State*) {
  throw Error(Code::kInterrupted, "the run is being ended, and with it the train function");
}

// Raises once: the user's code may catch the error.
void interrupt_hook(lua_State* L, lua_Debug*) {
  lua_sethook(L, nullptr, 0, 0);
  lua::push_function<&raise_interrupted>(L);
  lua_call(L, 0, 0);
}

void set_interrupt_hook(lua_State* L) {
  constexpr int kEverywhere = LUA_MASKCALL | LUA_MASKRET | LUA_MASKLINE | LUA_MASKCOUNT;
  lua_sethook(L, &interrupt_hook, kEverywhere, 1);
}

// Sets the network interface, as for a worker that an agent starts. It replaces "lo", which the
// CUDA library sets when it is loaded before this process knows of other nodes.
void use_interface(const std::string& address) {
  for (const auto& [name, interface] : machine::interface_settings(address)) {
    const char* before = std::getenv(name.c_str());
    if (before == nullptr || before == std::string_view("lo")) {
      setenv(name.c_str(), interface.c_str(), 1);
    }
  }
}

void warn_about_log(const std::string& reason) {
  std::cerr << "rtrain: warning: what the train function prints is not all kept in the run's logs: "
            << reason << "\n";
}

}  // namespace

LocalWorker::LocalWorker(lua_State* L, int channel_fd, bool is_joined)
    : main_(lua::main_state(L)), pump_(L) {
  pump_state_ = lua_newthread(L);
  pump_thread_ = lua::Ref(L);
  worker_ = std::make_unique<WorkerProcess>(
      LocalEndpoint{channel_fd, is_joined, [this] { pump(); }, [this] { interrupt(); }});
  worker_->wait_for_start();
  use_interface(worker_->context().address);
  keep_output();
}

LocalWorker::~LocalWorker() { leave(); }

// On the control thread: lua_sethook may be called while another thread runs Lua.
void LocalWorker::interrupt() {
  const std::lock_guard lock(mutex_);
  interrupted_ = true;
  if (!armed_) return;
  set_interrupt_hook(main_);
  std::thread(&lua::abort_device_groups).detach();
}

void LocalWorker::arm() {
  const std::lock_guard lock(mutex_);
  armed_ = true;
  if (interrupted_) set_interrupt_hook(main_);
}

void LocalWorker::disarm() {
  const std::lock_guard lock(mutex_);
  if (armed_) lua_sethook(main_, nullptr, 0, 0);
  armed_ = false;
}

void LocalWorker::leave() {
  disarm();
  output_.reset();
  worker_.reset();
}

// Where the log cannot be written, training continues without it. A line of output says so.
void LocalWorker::keep_output() {
  const loop::WorkerContext& context = worker_->context();
  try {
    output_.emplace("/proc/self/exe",
                    cat(context.run_path, "/logs/attempt-", context.attempt, "/rank-",
                        context.world_rank, ".log"),
                    context.log_bytes);
  } catch (const Error& e) {
    warn_about_log(e.message());
  }
}

void LocalWorker::pause_output() {
  if (output_) output_->pause();
}

void LocalWorker::resume_output() {
  if (output_) output_->resume();
}

void LocalWorker::finish(const Value& value) {
  end_output();
  worker_->finish(value);
}

void LocalWorker::fail(const Error& error) {
  end_output();
  worker_->fail(error);
}

// Ends the log before the controller adds to it.
void LocalWorker::end_output() {
  if (!output_) return;
  output_->pause();
  const int reason = output_->log_error();
  output_.reset();
  if (reason != 0) warn_about_log(std::strerror(reason));
}

void LocalWorker::pump() {
  pump_.push(pump_state_);
  lua::protected_call(pump_state_, 0, 0);
}

}  // namespace rtrain::worker
