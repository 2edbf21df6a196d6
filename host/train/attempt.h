// host/train/attempt.h: one worker group and all that serves it, from the first spawn to the last
// process that is gone.
//
// Belongs to the control thread. Carries out what the state machine decides for the group, and
// feeds it with what the ranks say and do; decides nothing. It must not be destroyed from inside a
// call of its worker group.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/loop/timer.h"
#include "host/train/checkpoints/checkpoint_coordinator.h"
#include "host/train/group/collective_service.h"
#include "host/train/group/join_server.h"
#include "host/train/group/key_value_store.h"
#include "host/train/group/worker_group.h"
#include "host/train/group/worker_roster.h"
#include "host/train/reports/annotation_intake.h"
#include "host/train/reports/record_writer.h"
#include "host/train/reports/report_receiver.h"
#include "host/train/resources/resource_broker.h"
#include "host/train/run_events.h"
#include "host/train/run_spec.h"
#include "host/train/state_machine.h"
#include "host/train/stop/stop_course.h"
#include "host/train/stop/stop_signals.h"
#include "host/train/watch/gpu_monitor.h"
#include "host/train/watch/profile_request.h"
#include "host/train/watch/watchdog.h"

namespace rtrain {

// What an attempt works with; all of it outlives it.
struct AttemptSeams {
  const RunSpec& spec;
  Loop& loop;
  IoCalls& io;
  RunEvents& events;
  RecordWriter& batch;
  CheckpointCoordinator& checkpoints;
  const ResourceBroker& resources;
  StopSignals& signals;
  JoinServer* join_server;  // under another launcher
  int functions_fd;
  int engine_fd;
  std::string run_id;
  std::string run_path;
  std::function<void()> on_logged;  // the batch got text
  std::function<void(Event event)> feed;
  std::function<void(std::vector<Report> reports)> on_complete;
  // A train function that runs in the script's own process has not ended when it had to: whether
  // the run ends without it.
  std::function<bool()> abandons;
};

class Attempt : public WorkerGroupObserver {
 public:
  Attempt(AttemptSeams seams, int number, int num_workers, RunRecord::AttemptStart start);

  int number() const { return number_; }
  // Starts all ranks, or feeds SpawnFailed.
  void spawn();
  // Lets a rank begin.
  void send_start(int rank);
  // Nothing for a rank that was not started.
  void send(int rank, const Value& message);
  void send_all(const Value& message) { group_.send_all(message); }
  // As StopCourse::start.
  void ask_to_stop(double grace_s) { stop_course_.start(grace_s); }
  bool is_asked_to_stop() const { return stop_course_.is_started(); }
  // Says at once that a rank has died.
  void tell_death(int rank);
  void kill();
  // All ranks are gone, or were never there. What keeps its reports from being a whole: a line, or
  // empty.
  std::string close();

  // A checkpoint was committed, with the report of that number.
  void on_committed(int64_t index) { stop_course_.on_committed(index); }
  // Reports were written, or events taken: ranks that were held back may go on.
  void on_written() {
    reports_.on_written();
    annotations_.on_written();
  }
  // As WorkerGroup::hold_output.
  void hold_output(bool held);
  void ask_stacks(StackRequest::Done done) { watchdog_.ask_stacks(std::move(done)); }
  // As ProfileRequest::start, of running ranks. Throws kUsage for one that is stopped, too.
  void ask_profiles(const ProfilePlan& plan, ProfileRequest::Done done);

  // How far the ranks' reports are.
  CheckpointProgress progress() const;
  // Of rank 0's train function.
  const Value& return_value() const { return return_value_; }

 private:
  using OnMessage = void (*)(Attempt& attempt, int rank, const Value& message);
  struct Route {
    std::string_view type;
    OnMessage on_message;
  };
  static const std::array<Route, 22> kRoutes;

  void on_message(int rank, const Value& message) override;
  void on_output(int rank, std::string_view bytes) override;
  void on_line(int rank, std::string_view stream, std::string line) override;
  void on_progress(int rank, std::string_view text) override;
  void on_gone(int rank, const WorkerEnd& end) override;

  void on_call(int rank, const Value& message);
  void on_hello(int rank, const Value& message);
  void on_dying(int rank);
  void on_phase(int rank, const Value& message);
  void on_series(int rank, const Value& message);
  void on_damaged(const Value& message);
  void on_returned(int rank, const Value& message);
  void on_gpus(int rank, const Value& gpus);
  void on_failed(int rank, const Value& message);

  Watchdog::Outlets watchdog_outlets();
  ReportReceiver::Seams intake_seams();
  CollectiveService::Outlets collective_outlets();
  StopCourseSeams stop_seams();
  WorkerGroupOptions group_options() const;
  bool spawn_next(int rank);
  void offer_seats();
  std::string diagnosis_folder() const;
  void save_diagnosis(const std::string& folder,
                      std::vector<std::pair<std::string, std::string>> files);

  void watch_gpus();
  void name_survivors();
  void abandon_seats();
  void warn(const std::string& text) { seams_.events.notice("warning", text); }

  AttemptSeams seams_;
  int number_;
  int num_workers_;
  RunRecord::AttemptStart start_;
  std::vector<std::string> last_words_;  // by rank, on stderr
  int threads_;                          // of each worker
  int64_t oom_kills_before_;
  Watchdog watchdog_;
  ProfileRequest profiles_;
  ReportReceiver reports_;
  AnnotationIntake annotations_;
  KeyValueStore store_;
  std::optional<CollectiveService> collectives_;
  StopCourse stop_course_;
  WorkerRoster roster_;
  GpuMonitor gpus_;
  Timer kill_notice_;
  bool holds_output_ = false;
  Value return_value_;
  WorkerGroup group_;
};

}  // namespace rtrain
