// host/train/run/run_spec.h: the specification of a run, the argument of rtrain._controller.open().
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/base/codec/record.h"
#include "host/base/value.h"
#include "host/decide/failure_policy.h"
#include "host/decide/hang_verdict.h"
#include "host/decide/placement.h"
#include "host/decide/scaling_policy.h"
#include "host/decide/slow/straggler_policy.h"
#include "host/decide/sync_board.h"
#include "host/store/runs/new_run.h"

namespace rtrain::train {

// The part of ValidationConfig that the controller needs.
struct ValidationSpec {
  static constexpr std::string_view kClass = "ValidationSpec";
  int max_concurrent = 1;
  int num_cpus = 1;                                       // for each validation
  std::optional<double> validation_drain_timeout_s = {};  // at the end of the run; none: no limit

  static constexpr RecordFields kFields{
      required("max_concurrent", &ValidationSpec::max_concurrent),
      required("num_cpus", &ValidationSpec::num_cpus),
      optional("validation_drain_timeout_s", &ValidationSpec::validation_drain_timeout_s)};
};

// The part of FailureConfig that the controller needs.
struct FailureSpec {
  static constexpr std::string_view kClass = "FailureSpec";
  int max_failures = 0;
  int max_heals = 0;  // for train.elastic
  int controller_failure_limit = 0;
  int max_preemption_failures = 0;
  std::optional<double> reset_after_s = {};
  double preemption_grace_s = 0;  // from the request to stop to the end of the workers
  double hang_threshold_s = 0;
  double busy_threshold_s = 0;
  double node_timeout_s = 0;  // a node that has not sent anything for that long is lost
  decide::StragglerPolicy straggler = decide::StragglerPolicy::kWarn;

  static constexpr RecordFields kFields{
      required("max_failures", &FailureSpec::max_failures),
      required("max_heals", &FailureSpec::max_heals),
      required("controller_failure_limit", &FailureSpec::controller_failure_limit),
      required("max_preemption_failures", &FailureSpec::max_preemption_failures),
      optional("reset_after_s", &FailureSpec::reset_after_s),
      required("preemption_grace_s", &FailureSpec::preemption_grace_s),
      required("hang_threshold_s", &FailureSpec::hang_threshold_s),
      required("busy_threshold_s", &FailureSpec::busy_threshold_s),
      required("node_timeout_s", &FailureSpec::node_timeout_s),
      required("straggler", &FailureSpec::straggler)};
};

// The part of HealthConfig that the controller needs: what to do about nodes that may be bad.
struct HealthSpec {
  static constexpr std::string_view kClass = "HealthSpec";
  bool preflight = false;          // nodes are checked before they are used
  double preflight_timeout_s = 0;  // for each check
  bool monitor = false;            // nodes are monitored while they are used
  bool has_evaluators = false;     // the script has evaluators, which decide

  static constexpr RecordFields kFields{
      required("preflight", &HealthSpec::preflight),
      required("preflight_timeout_s", &HealthSpec::preflight_timeout_s),
      required("monitor", &HealthSpec::monitor),
      required("has_evaluators", &HealthSpec::has_evaluators)};
};

// The ranks of this node other than rank 0, which are processes that a launcher has started.
struct JoinedRanks {
  static constexpr std::string_view kClass = "JoinedRanks";
  std::string socket;  // in the runtime folder; they connect to it
  int num_ranks = 1;   // number of ranks on this node, including rank 0
  int64_t fit = 1;     // the script's first fit(), second, …: the same in all processes

  static constexpr RecordFields kFields{required("socket", &JoinedRanks::socket),
                                        required("num_ranks", &JoinedRanks::num_ranks),
                                        required("fit", &JoinedRanks::fit)};
};

// The commit that the script's folder is checked out at.
struct GitCommit {
  static constexpr std::string_view kClass = "GitCommit";
  std::string commit;
  bool is_dirty = false;  // tracked files differ from it
  bool is_cut = false;    // the sources have only the beginning of the diff

  static constexpr RecordFields kFields{required("commit", &GitCommit::commit),
                                        required("is_dirty", &GitCommit::is_dirty),
                                        required("is_cut", &GitCommit::is_cut)};
};

// Every field comes from Lua (modules/rtrain/run/run_spec.lua). None has a default value here:
// modules/rtrain/config/ has the defaults of the user's configuration.
struct RunSpec {
  static constexpr std::string_view kClass = "RunSpec";
  std::string name;
  std::string storage_path;  // absolute
  std::string script;
  std::vector<std::string> command;
  std::vector<std::string> tags;
  std::string note;
  store::ResumeMode resume = store::ResumeMode::kNever;
  bool is_local = false;            // the process that called fit() is rank 0
  std::optional<JoinedRanks> join;  // set if processes of a launcher are the other ranks
  double start_timeout_s = 0;       // for each phase of the start
  int min_workers = 1;
  int max_workers = 1;  // more than min_workers: elastic
  double elastic_resize_monitor_interval_s = 0;
  int virtual_workers = 0;     // that the processes share; 0: none
  int cpus_per_worker = 0;     // its threads; 0: cores / workers, unless OMP_NUM_THREADS is set
  int ingest_cpus = 0;         // for each worker's processes that read its datasets
  double gpus_per_worker = 0;  // a part of one below 1
  decide::PlacementStrategy placement_strategy = decide::PlacementStrategy::kSpread;
  bool oversubscribe = false;    // takes no lease, so it never waits for other runs
  std::string accelerator_type;  // the type of GPU that it wants; empty: any
  StringPairs worker_env;        // added to this process's environment
  bool uses_torch = false;       // its workers make tensors
  std::string functions;         // the train function and its config, serialized
  Value train_loop_config;       // as plain data, for the run's record
  Value scaling_config;          // also for the run's record
  Value checkpoint_config;
  FailureSpec failure_config;
  HealthSpec health_config;
  std::optional<ValidationSpec> validation_config;
  bool mirrors = false;    // the run has a storage_filesystem
  bool can_fetch = false;  // the storage_filesystem has `get`
  std::string backend;
  double timeout_s = 0;        // for waits in user code
  int64_t log_bytes = 0;       // limit for a rank's log in one attempt; 0: none
  bool has_callbacks = false;  // the user has some: they see a failure before the next attempt
  bool wants_reports = false;  // the user's callbacks or predicate must see every report
  std::optional<GitCommit> git;
  List sources;  // {kind, path, text}: host/store/runs/source_store.h

  static constexpr RecordFields kFields{
      required("name", &RunSpec::name),
      required("storage_path", &RunSpec::storage_path),
      required("script", &RunSpec::script),
      required("command", &RunSpec::command),
      required("tags", &RunSpec::tags),
      required("note", &RunSpec::note),
      required("resume", &RunSpec::resume),
      required("is_local", &RunSpec::is_local),
      optional("join", &RunSpec::join),
      required("start_timeout_s", &RunSpec::start_timeout_s),
      required("min_workers", &RunSpec::min_workers),
      required("max_workers", &RunSpec::max_workers),
      required("elastic_resize_monitor_interval_s", &RunSpec::elastic_resize_monitor_interval_s),
      required("virtual_workers", &RunSpec::virtual_workers),
      required("cpus_per_worker", &RunSpec::cpus_per_worker),
      required("ingest_cpus", &RunSpec::ingest_cpus),
      required("gpus_per_worker", &RunSpec::gpus_per_worker),
      required("placement_strategy", &RunSpec::placement_strategy),
      required("oversubscribe", &RunSpec::oversubscribe),
      required("accelerator_type", &RunSpec::accelerator_type),
      required("worker_env", &RunSpec::worker_env),
      required("uses_torch", &RunSpec::uses_torch),
      required("functions", &RunSpec::functions),
      required("train_loop_config", &RunSpec::train_loop_config),
      required("scaling_config", &RunSpec::scaling_config),
      required("checkpoint_config", &RunSpec::checkpoint_config),
      required("failure_config", &RunSpec::failure_config),
      required("health_config", &RunSpec::health_config),
      optional("validation_config", &RunSpec::validation_config),
      required("mirrors", &RunSpec::mirrors),
      required("can_fetch", &RunSpec::can_fetch),
      required("backend", &RunSpec::backend),
      required("timeout_s", &RunSpec::timeout_s),
      required("log_bytes", &RunSpec::log_bytes),
      required("has_callbacks", &RunSpec::has_callbacks),
      required("wants_reports", &RunSpec::wants_reports),
      optional("git", &RunSpec::git),
      required("sources", &RunSpec::sources)};

  // The fields from here on do not come from Lua, but from an operator's environment variables.
  double silent_threshold_s = 600;  // a control thread that is silent for that long is stuck
  decide::SyncSettings collectives;
  double report_notice_s = 60;     // after that, a line names the rank that a checkpoint waits for
  double resource_notice_s = 30;   // between two lines about cores that the run waits for
  double gpu_sample_s = 5;         // between two samples of the devices' activity; 0: none
  double host_sample_s = 5;        // the same for the ranks' processes and their nodes
  double callback_timeout_s = 60;  // for the user's callbacks before a retry
  int port = 0;                    // other nodes of the job connect to it; 0: no other nodes

  // Returns 0 if it is not specified.
  int total_cpus_per_worker() const {
    return cpus_per_worker == 0 ? 0 : cpus_per_worker + ingest_cpus;
  }
  decide::FailureLimits failure_limits() const;
  decide::HangLimits hang_limits() const;

  // Whether the run uses all nodes that a launcher has allotted. In local mode without other
  // processes of the launcher it trains on this node alone.
  bool uses_nodes() const { return !is_local || join; }

  // Makes it from Lua's value and from the environment variables, which take precedence. Throws
  // Error(kArgument) for a field that is unknown, missing or of a wrong type, kConfig for one out
  // of range and for an invalid variable.
  static RunSpec from_value(Value value);
};

decide::ScalingPolicy scaling_policy(const RunSpec& spec);

}  // namespace rtrain::train
