// host/worker/worker_process.h: a worker's side of the run: channel, control thread, report, Store
// calls.
//
// One per process, made first thing in main. The control thread alone takes signals and reads the
// channel; the methods may be called by any thread unless they say otherwise. When the controller
// is gone the process ends at once, wherever its threads are.
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
#include "host/worker/checkpoint_client.h"
#include "host/worker/collective_client.h"
#include "host/worker/commit_client.h"
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

// The process that called fit() as its own worker.
struct LocalEndpoint {
  int channel_fd;
  bool passes_signals;           // the controller is another process
  std::function<void()> idle;    // called while the train function's thread waits
  std::function<void()> closed;  // the controller wants the train function to end; control thread
};

// Wide, because a process has one channel: each message that code of the worker sends is a
// method.
class WorkerProcess {
 public:
  // For the process's main thread, before any other thread exists. Ends the process when its parent
  // is not the given one.
  WorkerProcess(int rank, int parent_pid);
  // For the thread that runs the train function in the controller's own process. Everything is as
  // in a process of its own, but for signals, and for the end: the process continues.
  explicit WorkerProcess(LocalEndpoint endpoint);
  ~WorkerProcess();

  // The worker of this process; null in every other process.
  static WorkerProcess* current();

  // Waits for the controller's `start`. Before anything else below.
  void wait_for_start();
  const loop::WorkerContext& context() const { return context_; }
  // The serialized train function and its config.
  std::string functions() const;

  // The rank with which it was started: in a smaller group (train.elastic) its rank is another one.
  int place() const { return place_; }

  // It is a thread of the controller's process.
  bool is_local() const { return held_open_ >= 0; }

  // The facts of this process for the controller.
  Progress& progress() { return *progress_; }

  void set_phase(std::string_view name);
  // Which devices this worker uses, where another launcher has dealt them out.
  void set_gpus(const std::vector<int>& gpus);
  Reporter& reporter() { return attempt_->reporter; }
  SeriesLog& series_log() { return *series_log_; }
  // A note in the run's record. Main thread. Waits while the store cannot keep up. Throws kTimeout,
  // and kPeerLost when the controller is gone.
  void annotate(std::string_view severity, std::string_view text);
  // An image and the like, without its time. As annotate(); throws kArgument beyond a limit.
  void log_media(message::Media media);
  // A loss, gradient or metric is not finite. Never waits.
  void report_not_finite(const message::NotFinite& found) { send(found); }
  // Never waits.
  void show_loop(const message::LoopProgress& progress) { tell(progress); }
  // train.health.report(). Never waits.
  void report_health(std::string_view text, bool is_conclusive);
  // Main thread. True once the run, or this attempt, is to stop: on all ranks from the same call
  // on. Throws kTimeout.
  bool stop_requested();
  // The same, and not one of those calls: for a rank that never makes any.
  bool is_stopping() { return attempt_->stop_gate.is_agreed(); }
  // A new empty folder on the run's file system that goes with the attempt.
  std::string make_tempdir() const;

  // The train function has returned. Waits for uploads under way, then for the controller's `exit`.
  // Throws when a checkpoint could not be committed.
  void finish(const Value& value);
  // It raised. What ended the worker before stays its error.
  void fail(const Error& error);
  // It can no longer return: tells the controller, answers its questions and ends the process. In
  // local mode it returns, and the controller ends the train function. Not the main thread.
  void end(const Error& error);

  // What the script answers, in the controller. Main thread. Throws what it raised, and kTimeout
  // that names the setting.
  Value ask_script(const std::string& name, Value argument, double timeout_s,
                   const std::string& setting);

  // What threads of the engine are writing: a folder is complete before it is staged.
  PendingWrites& pending_writes() { return pending_writes_; }
  // Sends a message that is answered by a reply, and waits for that; nothing at the deadline. The
  // wait throws the error that is the answer.
  template <class Request>
  int64_t request(Request request) {
    const int64_t id = request.id = ++last_call_;
    expect_reply(id);
    send(std::move(request));
    return id;
  }
  std::optional<Value> wait_reply(
      int64_t id, std::chrono::milliseconds timeout,
      const std::function<bool()>& moves = [] { return false; });
  CollectiveClient& collectives() { return attempt_->collectives; }
  // Of this rank in this attempt: of the process group and over the controller. Main thread.
  int64_t num_collectives() const;
  CheckpointClient& checkpoints() { return attempt_->checkpoints; }
  CommitClient& commits() { return commits_; }
  // The folder of message::Grow, or empty.
  std::string growth() { return attempt_->growth.folder(); }
  // Ends what belongs to this attempt, tells the controller, and returns when the rank continues in
  // another one. Main thread. Throws kTimeout.
  void change_attempt(message::Unwound unwound);
  // Sends a message without an answer; silent when the channel is closed.
  void tell(message::ToController message) { channel_->send(to_value(std::move(message))); }

  // A Store call that is answered at once.
  template <class Request>
  Value call_store(Request call) {
    return wait_call(request(std::move(call)), std::nullopt, "");
  }
  // One that waits for keys. Throws kTimeout naming them.
  template <class Request>
  Value wait_store(Request call, std::chrono::milliseconds timeout, const std::string& keys) {
    const WaitScope waits(*progress_, WaitKind::kAgreement, "Store");
    return wait_call(request(std::move(call)), timeout, keys);
  }

  // The receivers of the controller's messages.
  static const loop::Routes<message::ToWorker, WorkerProcess> kRoutes;

 private:
  // Made again where the rank continues in another attempt (train.elastic).
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
  void on_start(loop::WorkerContext context);
  void on_peer_lost(const message::PeerLost& lost);
  void on_stop_prepare(const message::StopPrepare& prepare);
  void send_stacks(const message::AskStack& asked);
  void send_profile(const message::AskProfile& asked);
  void send_aside(const char* thread, std::function<message::ToController()> make);
  void send_failure(const Error& error, bool stays);
  void send(message::ToController message);
  // For what is stored as it comes: now and then it waits until little waits to be written.
  template <class Message>
  void send_stored(Message message, size_t bytes, const std::string& call);
  void expect_reply(int64_t id);
  Value wait_call(int64_t id, std::optional<std::chrono::milliseconds> timeout,
                  const std::string& what);

  int place_ = 0;
  std::unique_ptr<Progress> progress_;
  loop::Loop loop_;
  std::unique_ptr<loop::Channel> channel_;
  Idle idle_;
  Replies replies_{idle_};
  PendingWrites pending_writes_;
  loop::WorkerContext context_;
  std::unique_ptr<OfAttempt> attempt_;
  std::unique_ptr<SeriesLog> series_log_;
  std::atomic<int64_t> last_call_{0};
  std::thread control_;
  std::optional<machine::MemoryPressure> memory_pressure_;
  CommitClient commits_{*this};
  size_t unasked_bytes_ = 0;  // of annotations and media; main thread only
  MediaLimits media_limits_;  // main thread only
  std::atomic<bool> has_failed_{false};
  bool passes_signals_ = true;
  // In local mode: the controller sees the channel's end when this object goes.
  int held_open_ = -1;
};

}  // namespace rtrain::worker
