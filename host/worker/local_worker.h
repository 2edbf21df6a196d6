// host/worker/local_worker.h: a worker inside the process of the script: local mode.
//
// Belongs to the thread that called fit(), which runs the train function. While that waits for the
// controller, `pump` is called: a Lua function that takes the run's events. When the controller
// ends the attempt meanwhile (a second Ctrl-C, a time-out), the train function raises kInterrupted
// at its next line, or at its next call of rtrain.
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
  // Takes the worker's place at the channel's end and waits for `start`. Pops the pump function.
  // `is_joined`: the controller is another process.
  LocalWorker(lua_State* L, int channel_fd, bool is_joined);
  ~LocalWorker();
  LocalWorker(const LocalWorker&) = delete;
  LocalWorker& operator=(const LocalWorker&) = delete;

  // The train function begins, and is over: what ends the attempt interrupts Lua between these two
  // alone. If the attempt has ended before arm(), that raises at the next line.
  void arm();
  void disarm();
  // What the train function prints goes to the rank's log too, from the start on. Pause that while
  // others than the train function print.
  void pause_output();
  void resume_output();
  // As in a process of its own; the controller learns of the end by leave().
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
  // Lua is called while the train function's own coroutine is inside a C function: on a stack
  // apart.
  lua_State* pump_state_;
  lua::Ref pump_thread_;
  lua::Ref pump_;
  std::unique_ptr<WorkerProcess> worker_;
  std::optional<loop::OutputTee> output_;
};

}  // namespace rtrain::worker
