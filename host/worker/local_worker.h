// host/worker/local_worker.h: a worker inside the process of the script: local mode.
//
// Thread: the one that called fit(), which runs the train function. While this thread waits for the
// controller it calls `pump`, a Lua function that takes the run's events. When the controller
// ends the attempt (a second Ctrl-C, a time-out), the train function raises kInterrupted at its
// next line, or at its next call of rtrain.
#pragma once

#include <memory>
#include <mutex>
#include <optional>

#include "host/loop/processes/output_tee.h"
#include "host/lua/lua.h"
#include "host/lua/ref.h"
#include "host/worker/worker_process.h"

namespace rtrain::worker {

class LocalWorker {
 public:
  // Connects as the worker through `channel_fd` and waits for `start`. Pops the pump function from
  // the stack. `is_joined`: the controller is in another process.
  LocalWorker(lua_State* L, int channel_fd, bool is_joined);
  ~LocalWorker();
  LocalWorker(const LocalWorker&) = delete;
  LocalWorker& operator=(const LocalWorker&) = delete;

  // Call arm() before the train function and disarm() after it. Only between them does the end of
  // the attempt interrupt Lua. Where it came before arm(), Lua raises at its next line.
  void arm();
  void disarm();
  // The output of this process also goes to the rank's log, from the constructor on. It is paused
  // while other code than the train function prints.
  void pause_output();
  void resume_output();
  // As in WorkerProcess; leave() then notifies the controller that the worker has ended.
  void finish(const Value& value);
  void fail(const Error& error);
  void leave();

 private:
  void pump();
  void interrupt();
  void keep_output();
  void end_output();

  lua_State* main_;
  std::mutex mutex_;
  bool armed_ = false;
  bool interrupted_ = false;  // the controller has ended the attempt
  // A coroutine for the pump function, which runs while the train function's coroutine is inside a
  // C function.
  lua_State* pump_state_;
  lua::Ref pump_thread_;
  lua::Ref pump_;
  std::unique_ptr<WorkerProcess> worker_;
  std::optional<loop::OutputTee> output_;
};

}  // namespace rtrain::worker
