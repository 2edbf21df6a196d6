// host/train/controller.h: performs the actions of the state machine: resources, attempts, timers,
// the run's rows and its end.
//
// Belongs to the control thread, which it must not block: work on files goes to the io thread, and
// its result comes back as a task of the loop. The event queue informs the user's thread; the last
// event is `finished`. An Attempt owns what belongs to one worker group.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "host/decide/run/state_machine.h"
#include "host/loop/task_thread.h"
#include "host/loop/timer.h"
#include "host/train/attempt.h"
#include "host/train/checkpoints/checkpoint_coordinator.h"
#include "host/train/group/script_endpoints.h"
#include "host/train/health_control.h"
#include "host/train/operator_commands.h"
#include "host/train/record/run_context.h"
#include "host/train/record/run_record.h"
#include "host/train/reports/record_writer.h"
#include "host/train/reports/report_commits.h"
#include "host/train/resources/job_nodes.h"
#include "host/train/resources/node_judge.h"
#include "host/train/resources/resource_broker.h"
#include "host/train/run/event_queue.h"
#include "host/train/stop/stop_signals.h"
#include "host/train/watch/runtime_watch.h"

namespace rtrain::train {

// The dependencies of the controller; all of them outlive it.
struct ControllerContext {
  const RunSpec& spec;
  loop::Loop& loop;
  loop::TaskThread& io;
  RunRecord& record;  // only used on the io thread
  EventQueue& events;
  ScriptCalls& calls;
  int functions_fd;
  int engine_fd;
  node::Zygote* zygote;     // workers are forked from it; may be null
  node::NodeServer* nodes;  // the other nodes, if a launcher has allotted several; else null
};

class Controller : public AttemptDelegate,
                   public CheckpointCoordinatorDelegate,
                   public JobNodesDelegate,
                   public HealthControlDelegate,
                   public NodeJudgeDelegate,
                   public OperatorCommandsDelegate,
                   public ReportCommitsDelegate,
                   public StopSignalsDelegate {
 public:
  explicit Controller(const ControllerContext& context);
  ~Controller();
  Controller(const Controller&) = delete;
  Controller& operator=(const Controller&) = delete;

  // Begins; the loop is stopped after the event `finished`.
  void start();
  // Requests a graceful shutdown, as the first Ctrl-C does; with kResize only of the group. `by`
  // names for users who or what requests it.
  void request_stop(decide::StopKind kind, const std::string& by = {});
  // Ends the run at once, as the second Ctrl-C does.
  void stop_now(decide::StopKind kind, const std::string& by = {});
  // The user's thread has taken waiting events: ranks that were held back may continue.
  void events_taken();
  // The exit code of the process if the run has ended without its train function, which runs in the
  // script's process and did not end in time. Otherwise nothing.
  std::optional<int> abandoned() const { return abandoned_; }

 private:
  void feed(decide::Event event) override;
  void on_reports_complete(std::vector<Report> reports) override;
  void on_output_logged() override { hold_output(); }
  bool abandons_function() override;
  void send(int rank, message::ToWorker message) override;
  void add_validation_log(const store::CheckpointRow& checkpoint, std::string_view bytes) override;
  decide::CheckpointProgress progress() const override;
  void on_storage_error(const Error& error) override;
  void on_stop_command(const std::string& by) override {
    request_stop(decide::StopKind::kOperator, by);
  }
  void on_stop_now_command(const std::string& by) override {
    stop_now(decide::StopKind::kOperator, by);
  }
  void ask_profiles(const ProfilePlan& plan, ProfileRequest::Done done) override;
  void ask_stacks(StackRequest::Done done) override;
  void send_all(message::ToWorker message) override { attempt_->send_all(std::move(message)); }
  void on_commit_ended(int64_t index, const store::CheckpointRow* checkpoint) override;
  void on_first_signal(decide::StopKind kind, int number) override;
  void on_second_signal() override { stop_now(decide::StopKind::kInterrupt); }
  void show_stacks(std::function<void()> then) override;

  void notice(const std::string& text) override { events_.notice("info", text); }
  void warn(const std::string& text) override { events_.notice("warning", text); }
  void add_late_reports(std::vector<Report> reports, OnAdded done) override;
  void on_nodes_failed(const Error& error) override {
    feed(decide::event::ResourcesRefused{error});
  }
  void on_forwarded_signal(int number) override { signals_.on_forwarded(number); }
  void on_command(Value request, node::OperatorLinks::Reply reply) override;
  void on_evidence(decide::Evidence evidence, std::function<void()> decided) override;
  void on_evidence(decide::Evidence evidence) override;
  void send_health(int /*node*/, Value /*message*/) override {}  // the run has no other node
  void diagnose(const std::string& text) override;
  std::optional<int> rank_on(int node) const override;
  void check_own_node();

  node::NodeFiles make_files();
  std::unique_ptr<Resources> make_resources();
  decide::HealLimits heal_limits() const;
  void on_written();
  void tell_state();
  void perform(const decide::action::RequestResources& a);
  void perform(const decide::action::BeginAttempt& a);
  void perform(const decide::action::SpawnGroup& a);
  void perform(const decide::action::SendStart& a) { attempt_->send_start(a.rank); }
  void perform(const decide::action::SetDeadline& a);
  void perform(const decide::action::ClearDeadline&) { deadline_.stop(); }
  void on_deadline();
  void perform(const decide::action::SetVerdictTimer& a);
  void perform(const decide::action::SetResizeTimer& a);
  void perform(const decide::action::AskToStop& a);
  void perform(const decide::action::TellResize& a);
  void perform(const decide::action::TellDeath& a);
  void perform(const decide::action::TellLeftOut& a);
  void perform(const decide::action::Unwind& a);
  void perform(const decide::action::AskToGrow& a);
  void perform(const decide::action::DropCarried&);
  void perform(const decide::action::KillRank& a) { attempt_->kill(a.rank); }
  void perform(const decide::action::EndHealed& a);
  void perform(const decide::action::HealGroup& a);
  void perform(const decide::action::FindRoom& a);
  void perform(const decide::action::TellNoRoom& a);
  void perform(const decide::action::LookAgain& a);
  void perform(const decide::action::KeepSpares& a);
  void perform(const decide::action::TellHealed& a);
  void perform(const decide::action::SendExit& a);
  void perform(const decide::action::KillGroup& a);
  void perform(const decide::action::EndAttempt& a);
  void perform(const decide::action::TellFailure& a);
  void perform(const decide::action::SetRetryTimer& a);
  void perform(const decide::action::EndRun& a);
  void perform(const decide::action::Finish& a);

  void begin_attempt(const decide::action::BeginAttempt& a);
  void begun_attempt(RunRecord::AttemptStart start, bool is_heal);
  void end_run(const decide::action::EndRun& a);
  AttemptContext attempt_context();
  Map finished(const decide::action::Finish& a,
               const std::optional<CheckpointManager::Ranked>& ranked);
  void tell_end(const Map& finished);
  void look_for_room();
  void hold_output();
  void open_commands();
  void watch_runtime_folder();
  void take_warnings();
  void tell_stopping(decide::StopKind kind, double grace_s);
  Value return_value() const { return attempt_ ? attempt_->return_value() : Value(); }

  ControllerContext context_;
  IoCalls io_;
  RunEvents events_;
  std::optional<ScriptEndpoints> endpoints_;  // in local mode
  RunContext run_;
  decide::Machine machine_;
  std::deque<decide::Event> waiting_;
  bool feeding_ = false;
  std::unique_ptr<Resources> resources_;
  HealthControl health_;
  std::unique_ptr<NodeJudge> own_health_;  // if the run has only this node
  RecordWriter writer_;
  ReportCommits commits_;
  CheckpointCoordinator checkpoints_;
  std::string stop_by_;
  std::optional<double> running_since_s_;  // since then all ranks of the attempt have run
  std::optional<double> lost_since_s_;     // since then the group that is being healed lacks ranks
  std::optional<int> abandoned_;

  decide::action::SetDeadline deadline_of_{};
  double deadline_due_s_ = 0;
  loop::Timer deadline_;
  loop::Timer verdict_;
  loop::Timer resize_;
  loop::Timer retry_;
  StopSignals signals_;
  std::unique_ptr<OperatorCommands> commands_;
  std::unique_ptr<RuntimeWatch> runtime_watch_;
  RunRecord::AttemptStart start_;     // for the attempt that is spawned next
  std::vector<int> room_;             // the nodes that FindRoom has found
  std::string carried_;               // the folder of a commit from which a larger group continues
  std::unique_ptr<Attempt> attempt_;  // the newest one; it uses all members above
};

}  // namespace rtrain::train
