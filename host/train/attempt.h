// host/train/attempt.h: one worker group and the services for it, from the first spawn to the end
// of the last process.
//
// Belongs to the control thread. Carries out what the state machine decides for the group, and
// passes the ranks' events to it; makes no decisions. It must not be destroyed from inside a call
// of its worker group.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/decide/checkpoints/commit_agreement.h"
#include "host/decide/evidence.h"
#include "host/decide/run/state_machine.h"
#include "host/decide/slow/shares.h"
#include "host/loop/messages/routes.h"
#include "host/loop/messages/to_controller.h"
#include "host/loop/messages/to_worker.h"
#include "host/loop/timer.h"
#include "host/node/series/open_chunks.h"
#include "host/node/workers/node.h"
#include "host/train/checkpoints/checkpoint_coordinator.h"
#include "host/train/group/collective_service.h"
#include "host/train/group/key_value_store.h"
#include "host/train/group/moved_ranks.h"
#include "host/train/group/node_group.h"
#include "host/train/group/rank_copies.h"
#include "host/train/group/worker_output.h"
#include "host/train/group/worker_roster.h"
#include "host/train/record/run_context.h"
#include "host/train/reports/extras_receiver.h"
#include "host/train/reports/not_finite_notice.h"
#include "host/train/reports/record_writer.h"
#include "host/train/reports/report_receiver.h"
#include "host/train/resources/resources.h"
#include "host/train/stop/graceful_shutdown.h"
#include "host/train/stop/stop_signals.h"
#include "host/train/watch/device_faults.h"
#include "host/train/watch/profile_request.h"
#include "host/train/watch/watchdog.h"

namespace rtrain::train {

// All attempts of a run use it; it outlives them.
struct AttemptContext {
  const RunContext& run;
  RecordWriter& writer;
  CheckpointCoordinator& checkpoints;
  Resources& resources;
  StopSignals& signals;
};

class AttemptDelegate {
 public:
  virtual ~AttemptDelegate() = default;
  virtual void feed(decide::Event event) = 0;
  // All ranks have made the report of one number.
  virtual void on_reports_complete(std::vector<Report> reports) = 0;
  // The writer got text that a rank has printed.
  virtual void on_output_logged() = 0;
  // Evidence against the node of a rank of the attempt.
  virtual void on_evidence(decide::Evidence evidence) = 0;
  // A train function in the script's own process has not ended in time. Returns whether the run
  // ends without it.
  virtual bool abandons_function() = 0;
};

// Wide, because each order of the state machine is a method, and so is each call from the services.
class Attempt : public CollectiveServiceDelegate,
                public ReportReceiverDelegate,
                public GracefulShutdownDelegate,
                public node::NodeDelegate,
                public WatchdogDelegate {
 public:
  Attempt(const AttemptContext& context, AttemptDelegate& delegate, int number, int num_workers,
          RunRecord::AttemptStart start);
  // A heal: takes over the nodes of the attempt before, with the processes that are left. Rank
  // order.kept[i] of that attempt is rank i of this one. `nodes`: those that order.moved go to, as
  // in move_ranks().
  Attempt(const AttemptContext& context, AttemptDelegate& delegate,
          const decide::action::HealGroup& order, RunRecord::AttemptStart start, Attempt& before,
          const std::vector<int>& nodes);

  int number() const { return number_; }
  int num_workers() const { return num_workers_; }
  // Starts all ranks, or passes SpawnFailed to the state machine.
  void spawn();
  // For a heal: starts these ranks, and lets the others continue.
  void heal(const std::vector<int>& lost);
  const NodeGroup& nodes() const { return nodes_; }
  // Sends `start` to a rank.
  void send_start(int rank);
  // Does nothing for a rank that was not started.
  void send(int rank, message::ToWorker message) override;
  void send_all(message::ToWorker message) override;
  // Calls GracefulShutdown::start.
  void ask_to_stop(double grace_s) { graceful_shutdown_.start(grace_s); }
  bool is_asked_to_stop() const { return graceful_shutdown_.is_started(); }
  // Tells the user at once that a rank has died, and with what effect.
  void tell_death(int rank, decide::DeathEffect effect, const std::string& because);
  // Tells the other ranks to go back to their last commit.
  void tell_lost(int rank);
  // Keeps a process on each node that can take the next lost rank's place, or ends them.
  void keep_spares(bool are);
  // Sends message::Grow: for a larger group, for other shares in the same processes, or to cancel
  // that.
  void ask_to_grow(const std::string& folder);
  void ask_to_share();
  void cancel_growth();
  void kill();
  void kill(int rank) { node(rank).kill(nodes_.place(rank)); }
  // Call it when all ranks have ended, or were never started. Returns a line about incomplete
  // reports, or "".
  std::string close();
  // The ranks that are left wait for another attempt, whose first report has this number.
  void close_healed(int64_t next_index);

  // The checkpoint of the report of that number was committed.
  void on_committed(int64_t index) { graceful_shutdown_.on_committed(index); }
  // Reports were written, or the script has taken events: ranks that were held back may continue.
  void on_written() {
    reports_.on_written();
    extras_.on_written();
  }
  // Calls Node::hold_output.
  void hold_output(bool held);
  // Saves the stacks of all ranks with this text.
  void diagnose(const std::string& text) {
    watchdog_.save_stacks(text, [] {});
  }
  // The devices of the ranks that were started.
  std::vector<node::WorkerGpu> gpus() const;
  void ask_stacks(StackRequest::Done done) { watchdog_.ask_stacks(std::move(done)); }
  // Profiles running ranks, as ProfileRequest::start does. Throws kUsage also for a stopped one.
  void ask_profiles(const ProfilePlan& plan, ProfileRequest::Done done);

  // How far the ranks' reports have come.
  decide::CheckpointProgress progress() const;
  // What rank 0's train function returned.
  const Value& return_value() const { return return_value_; }

  // The handlers of a rank's messages.
  static const loop::Routes<message::ToController, Attempt, int> kRoutes;

 private:
  // A node names a process by its place (NodeGroup::rank_at).
  void on_spawned(int place, const node::SpawnedWorker& worker) override;
  void on_spawn_failed(int place, const Error& error, bool is_transient) override;
  void on_frame(int place, std::string frame) override;
  void on_output(int place, node::OutputStream stream, std::string_view bytes) override;
  void on_dying(int place) override;
  void on_gone(int place, const node::WorkerEnd& end) override;
  void on_series(store::SeriesChunk chunk) override;
  void on_device_fault(const node::DeviceFault& fault) override;

  void warn(const std::string& text) override { run_.events.notice("warning", text); }
  void on_report(Report report) override;
  void on_reports_complete(std::vector<Report> reports) override;
  size_t unwritten_bytes() const override;
  uint64_t copied_bytes() const override { return nodes_.copied_bytes(); }
  void on_stop_complete() override { delegate_.feed(decide::event::StopComplete{number_}); }
  void on_grace_passed() override { delegate_.feed(decide::event::GracePassed{number_}); }
  std::string diagnosis_folder() const override;
  void save_diagnosis(const std::string& folder,
                      std::vector<std::pair<std::string, std::string>> files) override;
  void on_hang(int rank, const Error& error) override;
  void on_straggler(const decide::Straggler& found) override;
  void on_work(const std::vector<double>& work_s) override;
  decide::RankFacts facts(int rank) const override { return node(rank).facts(nodes_.place(rank)); }

  void answer(std::vector<KeyValueStore::Answer> answers);
  void on_hello(int rank, const message::Hello& hello);
  void on_phase(int rank, const message::Phase& reached);
  void on_series(int rank, message::Series series);
  void on_series_dropped(int rank, const message::SeriesDropped& dropped);
  void on_logged(int rank, const message::Logged& logged);
  void on_loop_progress(int rank, const message::LoopProgress& progress);
  void on_damaged(const message::Damaged& damaged);
  void on_put_file(int rank, message::PutFile part);
  void on_read_file(int rank, const message::ReadFile& asked);
  void answer_far(int rank, int64_t id, std::function<Value()> work);
  void on_node_ready(int rank, message::NodeReady ready);
  void on_unwound(int rank, const message::Unwound& unwound);
  void on_sync(int rank, message::Sync sync);
  void on_ask_script(int rank, message::AskScript ask);
  void on_returned(int rank, message::Returned returned);
  void on_failed(int rank, const message::Failed& failed);

  Attempt(const AttemptContext& context, AttemptDelegate& delegate, int number, int num_workers,
          RunRecord::AttemptStart start, NodeGroup nodes);
  void close_services();
  loop::WorkerContext context_of(int rank) const;
  bool is_copied(const NodeGroup::Member& member) const;
  loop::WorkerContext context_of_spare(const NodeGroup::Member& member) const;
  void look_at_spares();
  void take_over(int rank, const Attempt& before, int old_rank);
  void end_rank(int rank, const node::WorkerEnd& end);
  Error explain(int rank, const Error& error) const;
  void tell_evidence(int rank, const std::string& kind, const std::string& text,
                     bool is_conclusive);
  node::NodeOrder node_order() const;
  node::Node& node(int rank) const { return *nodes_.of(rank).node; }
  void send_frame(int rank, std::string_view frame) { node(rank).send(nodes_.place(rank), frame); }
  void drain();
  void name_survivors();
  void abandon_endpoints();

  AttemptContext context_;
  const RunContext& run_;
  AttemptDelegate& delegate_;
  int number_;
  int num_workers_;
  RunRecord::AttemptStart start_;
  Watchdog watchdog_;
  ProfileRequest profiles_;
  ReportReceiver reports_;
  ExtrasReceiver extras_;
  NotFiniteNotice not_finite_;
  KeyValueStore store_;
  std::optional<CollectiveService> collectives_;
  GracefulShutdown graceful_shutdown_;
  WorkerRoster roster_;
  WorkerOutput output_;
  std::vector<node::SpawnedWorker> workers_;  // by rank
  decide::Shares shares_;
  node::OpenChunks slow_series_{number_};
  bool is_heal_ = false;
  // For train.elastic.
  decide::CommitAgreement commits_;
  RankCopies copies_;
  bool has_lost_ = false;
  DeviceFaults faults_;
  loop::Timer kill_notice_;
  loop::Timer spares_;
  Value return_value_;
  std::shared_ptr<char> alive_ = std::make_shared<char>();  // the script may answer after its end
  NodeGroup nodes_;
};

}  // namespace rtrain::train
