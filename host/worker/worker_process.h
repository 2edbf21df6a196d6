// host/worker/worker_process.h: a worker's side of the run: channel, control thread, reports, calls
// of the Store.
//
// One per process, made at the beginning of main. Only the control thread takes signals and reads
// the channel. Any thread may call the methods unless they say otherwise. When the controller has
// ended this process ends at once, whatever its threads do.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "host/base/error.h"
#include "host/base/value.h"
#include "host/loop/channel/channel.h"
#include "host/loop/messages/routes.h"
#include "host/loop/messages/to_controller.h"
#include "host/loop/messages/to_worker.h"
#include "host/machine/memory_pressure.h"
#include "host/machine/processes/priority.h"
#include "host/worker/checkpoint_client.h"
#include "host/worker/collective_client.h"
#include "host/worker/commit_client.h"
#include "host/worker/far_files.h"
#include "host/worker/far_paths.h"
#include "host/worker/growth.h"
#include "host/worker/progress.h"
#include "host/worker/report/idle.h"
#include "host/worker/report/media_limits.h"
#include "host/worker/report/pending_writes.h"
#include "host/worker/report/replies.h"
#include "host/worker/report/series_log.h"
#include "host/worker/reporter.h"
#include "host/worker/stop_gate.h"

namespace rtrain::worker {

// Of a worker in the process that called fit() (local mode).
struct LocalEndpoint {
  int channel_fd;
  bool passes_signals;           // the controller is another process
  std::function<void()> idle;    // called while the train function's thread waits
  std::function<void()> closed;  // the controller has ended the attempt; on the control thread
};

// It has many methods, since a process has one channel: each message that a worker sends has its
// method.
class WorkerProcess {
 public:
  // Thread: the process's main thread, before there is another one. Ends the process when its
  // parent is not `parent_pid`.
  WorkerProcess(int rank, int parent_pid);
  // Local mode. Thread: the one that runs the train function in the controller's process. It
  // differs from a worker process in signals, and at the end: the process continues.
  explicit WorkerProcess(LocalEndpoint endpoint);
  ~WorkerProcess();

  // The worker of this process; null in every other process.
  static WorkerProcess* current();

  // Waits for the controller's message `start`. Call it before the methods below.
  void wait_for_start();
  // A spare waits here until it takes a lost rank's place; another process, and a thread other than
  // the main one, does not wait. What depends on the rank or the attempt calls it.
  void take_place();
  const loop::WorkerContext& context() const { return context_; }
  const FarPaths& far_paths() const { return far_paths_; }
  // The serialized train function and its config.
  std::string functions() const;

  // The rank with which it was started. In a smaller group (train.elastic) it may get another rank.
  int place() {
    take_place();
    return place_;
  }

  // Whether it is in the process that called fit().
  bool is_local() const { return held_open_ >= 0; }

  // This worker's page of shared memory.
  Progress& progress() { return *progress_; }

  void set_phase(std::string_view name);
  // Notifies the controller of this worker's devices, where another launcher has assigned them.
  void set_gpus(const std::vector<int>& gpus);
  Reporter& reporter() { return of_attempt().reporter; }
  SeriesLog& series_log() { return *series_log_; }
  // Adds an annotation to the run's record. Main thread. Waits while the store cannot keep up.
  // Throws kTimeout, and kPeerLost when the controller has ended.
  void annotate(std::string_view severity, std::string_view text);
  // Adds an image, audio and so on, without its time. As annotate(); kArgument beyond a limit.
  void log_media(message::Media media);
  // Reports that a loss, gradient or metric is not finite. Never waits.
  void report_not_finite(const message::NotFinite& found) { send(found); }
  // Never waits.
  void show_loop(const message::LoopProgress& progress) { tell(progress); }
  // train.health.report(). Never waits.
  void report_health(std::string_view text, bool is_conclusive);
  // train.stop_requested(): true once the run, or this attempt, is to stop, on all ranks from the
  // same call on. Main thread. Throws kTimeout.
  bool stop_requested();
  // Whether the ranks have agreed to stop. Not counted as a call: for a rank that makes none.
  bool is_stopping() { return attempt_->stop_gate.is_agreed(); }
  // Creates an empty folder on the run's file system, which is deleted with the attempt.
  std::string make_tempdir();

  // The train function has returned `value`. Waits for running uploads, then for the controller's
  // `exit`. Throws when a checkpoint could not be committed.
  void finish(const Value& value);
  // The train function has raised. Where the worker has an earlier error, that one stays.
  void fail(const Error& error);
  // The train function can no longer return: notifies the controller and ends the process. In local
  // mode it returns, and the controller ends the attempt. Not on the main thread.
  void end(const Error& error);

  // Calls the function `name` of the script, in the controller, and returns its value. Main thread.
  // Throws the error that it raised, and kTimeout, which names the setting.
  Value ask_script(const std::string& name, Value argument, double timeout_s,
                   const std::string& setting);

  // The files that threads of the engine are writing. A folder is staged when these are complete.
  PendingWrites& pending_writes() { return pending_writes_; }
  // request() sends a message that the controller answers with a reply. wait_reply() returns the
  // reply, nullopt at the deadline, and throws an error that is the reply.
  template <class Request>
  int64_t request(Request request) {
    take_place();
    const int64_t id = request.id = ++last_call_;
    expect_reply(id);
    send(std::move(request));
    return id;
  }
  std::optional<Value> wait_reply(
      int64_t id, std::chrono::milliseconds timeout,
      const std::function<bool()>& moves = [] { return false; });
  CollectiveClient& collectives() { return of_attempt().collectives; }
  // This rank's collectives in this attempt: of process groups and train.collective. Main thread.
  int64_t num_collectives() const;
  CheckpointClient& checkpoints() { return of_attempt().checkpoints; }
  CommitClient& commits() { return commits_; }
  // The folder of message::Grow: Growth::folder().
  std::optional<std::string> growth() { return of_attempt().growth.folder(); }
  // Ends the waits and uploads of this attempt, notifies the controller, and returns when the rank
  // continues in another attempt. Main thread. Throws kTimeout.
  void change_attempt(message::Unwound unwound);
  // Sends a message without an answer. Does nothing when the channel is closed.
  void tell(message::ToController message) { channel_->send(to_value(std::move(message))); }

  // Makes a Store call that the controller answers at once.
  template <class Request>
  Value call_store(Request call) {
    return wait_call(request(std::move(call)), std::nullopt, "");
  }
  // Makes a Store call that waits for keys. Throws kTimeout, which names them.
  template <class Request>
  Value wait_store(Request call, std::chrono::milliseconds timeout, const std::string& keys) {
    const WaitScope waits(*progress_, WaitKind::kAgreement, "Store");
    return wait_call(request(std::move(call)), timeout, keys);
  }

  // The receivers of the controller's messages.
  static const loop::Routes<message::ToWorker, WorkerProcess> kRoutes;

 private:
  // The parts that are made again when the rank continues in another attempt (train.elastic).
  struct OfAttempt {
    explicit OfAttempt(WorkerProcess& worker);

    Reporter reporter;
    CollectiveClient collectives;
    CheckpointClient checkpoints;
    StopGate stop_gate;
    Growth growth;
    bool stop_seen = false;  // main thread only
    // Ends every wait with kPeerLost.
    void close();
  };

  void begin(int fd, loop::Channel::OnClose on_close);
  void take_signals();
  OfAttempt& of_attempt() {
    take_place();
    return *attempt_;
  }
  void on_start(loop::WorkerContext context);
  void begin_attempt(loop::WorkerContext context);
  void begin_place();
  void on_peer_lost(const message::PeerLost& lost);
  void on_stop_prepare(const message::StopPrepare& prepare);
  void send_stacks(const message::AskStack& asked);
  void send_profile(const message::AskProfile& asked);
  void send_aside(const char* thread, std::function<message::ToController()> make);
  void send_failure(const Error& error, bool stays);
  void send(message::ToController message);
  // Sends a message that is stored. From time to time it waits until the store has caught up.
  template <class Message>
  void send_stored(Message message, size_t bytes, const std::string& call);
  void expect_reply(int64_t id);
  Value wait_call(int64_t id, std::optional<std::chrono::milliseconds> timeout,
                  const std::string& what);

  int place_ = 0;
  std::thread::id main_ = std::this_thread::get_id();
  std::unique_ptr<Progress> progress_;
  loop::Loop loop_;
  std::unique_ptr<loop::Channel> channel_;
  Idle idle_;
  Replies replies_{idle_};
  PendingWrites pending_writes_;
  loop::WorkerContext context_;
  FarPaths far_paths_;                   // set by each `start`
  std::unique_ptr<FarFiles> far_files_;  // on a node that does not see node 0's disk
  std::unique_ptr<OfAttempt> attempt_;
  std::unique_ptr<SeriesLog> series_log_;
  std::atomic<int64_t> last_call_{0};
  std::thread control_;
  std::optional<machine::MemoryPressure> memory_pressure_;
  CommitClient commits_{*this};
  size_t unasked_bytes_ = 0;  // of annotations and media, since the last wait; main thread only
  MediaLimits media_limits_;  // main thread only
  std::atomic<bool> has_failed_{false};
  bool passes_signals_ = true;
  // Of a spare.
  std::atomic<bool> is_spare_{false};            // it has no place yet
  std::optional<machine::StepBack> steps_back_;  // control thread only, as the next two
  std::optional<loop::WorkerContext> next_;      // of its place
  bool awaits_place_ = false;
  std::atomic<bool> has_place_{false};
  // In local mode a copy of the channel's descriptor: the channel ends when this object does.
  int held_open_ = -1;
};

}  // namespace rtrain::worker
