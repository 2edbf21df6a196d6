// host/train/controller.h: performs what the state machine decides: processes, messages, timers,
// files.
//
// Lives on the control thread, which it may not block: what touches the disk goes to the io thread
// and comes back as a task of the loop. Tells the user's thread through the event queue; the last
// event is `finished`.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <set>

#include "host/loop/task_thread.h"
#include "host/loop/timer.h"
#include "host/train/checkpoint_coordinator.h"
#include "host/train/collective_service.h"
#include "host/train/control_server.h"
#include "host/train/core_broker.h"
#include "host/train/event_queue.h"
#include "host/train/io_calls.h"
#include "host/train/join_server.h"
#include "host/train/key_value_store.h"
#include "host/train/report_batch.h"
#include "host/train/report_intake.h"
#include "host/train/run_record.h"
#include "host/train/run_spec.h"
#include "host/train/script_calls.h"
#include "host/train/state_machine.h"
#include "host/train/stop_course.h"
#include "host/train/stop_signals.h"
#include "host/train/watchdog.h"
#include "host/train/worker_group.h"

namespace rtrain {

// What the controller works with; all of it outlives it.
struct ControllerSeams {
  const RunSpec& spec;
  Loop& loop;
  TaskThread& io;
  RunRecord& record;  // only on the io thread
  EventQueue& events;
  ScriptCalls& calls;
  int functions_fd;
  int engine_fd;
};

class Controller : public WorkerGroupObserver {
 public:
  explicit Controller(const ControllerSeams& seams);
  ~Controller() override;

  // Begins; the loop is stopped after the event `finished`.
  void start();
  // Asks the run to end in order, as the first Ctrl-C does; with kResize only the group. `by`: who
  // or what asks, for the user.
  void request_stop(StopKind kind, const std::string& by = {});
  // Ends it without asking anybody, as the second does.
  void stop_now(StopKind kind);
  // The user's thread has caught up: ranks that were held back may go on.
  void events_taken();

 private:
  void on_message(int rank, const Value& message) override;
  void on_output(int rank, std::string_view bytes) override;
  void on_line(int rank, std::string_view stream, std::string line) override;
  void on_gone(int rank, const WorkerEnd& end) override;

  void hold_output();
  void feed(Event event);
  void perform(const action::RequestResources& a);
  void perform(const action::BeginAttempt& a);
  void perform(const action::SpawnGroup& a);
  void perform(const action::SendStart& a);
  void perform(const action::SetDeadline& a);
  void perform(const action::ClearDeadline& a);
  void perform(const action::SetVerdictTimer& a);
  void perform(const action::SetResizeTimer& a);
  void perform(const action::AskToStop& a);
  void perform(const action::ReportResize& a);
  void perform(const action::ReportDeath& a);
  void perform(const action::SendExit& a);
  void perform(const action::KillGroup& a);
  void perform(const action::EndAttempt& a);
  void perform(const action::ReportFailure& a);
  void perform(const action::SetRetryTimer& a);
  void perform(const action::EndRun& a);
  void perform(const action::Finish& a);

  void on_failed(int rank, const Value& error);
  void on_hello(int rank, const Value& message);
  void on_dying(int rank);
  void on_damaged(const Value& message);
  void on_returned(int rank, const Value& message);
  void complete(std::vector<Report> reports);
  void commit(std::vector<Report> reports);
  void answer_failed(const Report& failed);
  void emit_report(const std::vector<Report>& reports, const Value& path);
  void make_intake(int size);
  void make_watchdog(int size);
  CheckpointCoordinator::Seams checkpoint_seams();
  void begin_attempt(const action::BeginAttempt& a);
  void end_run(const action::EndRun& a);
  void record_workers();
  void open_control_server();
  void offer_seats();
  Value stop_for_operator(const Value& request);
  void show_stacks(const Value& request, const ControlServer::Reply& reply);
  void emit_stopping(StopKind kind, double grace_s);
  void name_survivors();

  // As IoCalls::call.
  template <class Work, class Done>
  void on_io(Work work, Done done) {
    io_calls_.call(std::move(work), std::move(done));
  }
  // The same for work without a result; an Error ends the run.
  template <class Work>
  void on_io(Work work);

  void emit(std::string_view type, Map fields);
  void emit_notice(std::string_view level, const std::string& text);
  Map event_map(std::string_view type, Map fields) const;

  ControllerSeams seams_;
  IoCalls io_calls_;
  int threads_ = 1;  // of each worker
  Machine machine_;
  CoreBroker cores_;
  std::deque<Event> waiting_;
  bool feeding_ = false;

  // Of the current attempt.
  RunRecord::Attempt attempt_;
  std::unique_ptr<Watchdog> watchdog_;
  int64_t oom_kills_before_ = 0;
  std::unique_ptr<WorkerGroup> group_;
  bool holds_output_ = false;  // of this group
  std::unique_ptr<ReportIntake> reports_;
  std::unique_ptr<StopCourse> stop_course_;
  KeyValueStore store_;
  std::unique_ptr<CollectiveService> collectives_;
  std::vector<WorkerRow> workers_;
  bool new_checkpoint_ = false;

  ReportBatch batch_;
  std::multiset<int64_t> commits_;  // reports whose checkpoints are on the io thread
  CheckpointCoordinator checkpoints_;
  Value metrics_;            // of the last complete report
  int64_t num_reports_ = 0;  // that became complete under this controller
  Value return_value_;
  std::string stop_by_;

  Timer deadline_;
  Timer verdict_;
  Timer resize_;
  Timer retry_;
  Timer kill_notice_;
  StopSignals signals_;
  std::unique_ptr<ControlServer> control_server_;
  std::unique_ptr<JoinServer> join_server_;  // under another launcher
};

}  // namespace rtrain
