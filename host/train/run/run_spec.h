// host/train/run/run_spec.h: the specification of a run, as rtrain._controller.open() got it.
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
#include "host/decide/sync_board.h"
#include "host/store/runs/new_run.h"

namespace rtrain::train {

// What ValidationConfig says to the controller.
struct ValidationSpec {
  static constexpr std::string_view kClass = "ValidationSpec";
  int max_concurrent = 1;
  int num_cpus = 1;                                       // of each validation
  std::optional<double> validation_drain_timeout_s = {};  // at the end of the run; none: no limit

  static constexpr RecordFields kFields{
      required("max_concurrent", &ValidationSpec::max_concurrent),
      required("num_cpus", &ValidationSpec::num_cpus),
      optional("validation_drain_timeout_s", &ValidationSpec::validation_drain_timeout_s)};
};

// What FailureConfig says to the controller.
struct FailureSpec {
  static constexpr std::string_view kClass = "FailureSpec";
  int max_failures = 0;
  int max_heals = 0;  // of train.elastic
  int controller_failure_limit = 0;
  int max_preemption_failures = 0;
  std::optional<double> reset_after_s = {};
  double preemption_grace_s = 0;  // from the request to stop to the end of the workers
  double hang_threshold_s = 0;
  double busy_threshold_s = 0;
  double node_timeout_s = 0;  // a node that has not been heard of for that long is lost

  static constexpr RecordFields kFields{
      required("max_failures", &FailureSpec::max_failures),
      required("max_heals", &FailureSpec::max_heals),
      required("controller_failure_limit", &FailureSpec::controller_failure_limit),
      required("max_preemption_failures", &FailureSpec::max_preemption_failures),
      optional("reset_after_s", &FailureSpec::reset_after_s),
      required("preemption_grace_s", &FailureSpec::preemption_grace_s),
      required("hang_threshold_s", &FailureSpec::hang_threshold_s),
      required("busy_threshold_s", &FailureSpec::busy_threshold_s),
      required("node_timeout_s", &FailureSpec::node_timeout_s)};
};

// What HealthConfig says to the controller: the treatment of nodes that may be bad.
struct HealthSpec {
  static constexpr std::string_view kClass = "HealthSpec";
  bool preflight = false;          // nodes are checked before they are used
  double preflight_timeout_s = 0;  // of each check
  bool monitor = false;            // they are looked after while they are
  bool has_evaluators = false;     // the script decides

  static constexpr RecordFields kFields{
      required("preflight", &HealthSpec::preflight),
      required("preflight_timeout_s", &HealthSpec::preflight_timeout_s),
      required("monitor", &HealthSpec::monitor),
      required("has_evaluators", &HealthSpec::has_evaluators)};
};

// The ranks of this node but rank 0, which are processes that a launcher has started.
struct JoinedRanks {
  static constexpr std::string_view kClass = "JoinedRanks";
  std::string socket;  // where they come to, in the runtime folder
  int num_ranks = 1;   // of this node, with rank 0
  int64_t fit = 1;     // theirs, and this one's: the script's first fit(), second, …

  static constexpr RecordFields kFields{required("socket", &JoinedRanks::socket),
                                        required("num_ranks", &JoinedRanks::num_ranks),
                                        required("fit", &JoinedRanks::fit)};
};

// The commit that the script's folder is at.
struct GitCommit {
  static constexpr std::string_view kClass = "GitCommit";
  std::string commit;
  bool is_dirty = false;  // tracked files differ from it
  bool is_cut = false;    // the sources have only the beginning of the diff

  static constexpr RecordFields kFields{required("commit", &GitCommit::commit),
                                        required("is_dirty", &GitCommit::is_dirty),
                                        required("is_cut", &GitCommit::is_cut)};
};

// Every field comes from Lua (modules/rtrain/run/run_spec.lua). None has a default here: those of
// the user's configuration are in modules/rtrain/config/.
struct RunSpec {
  static constexpr std::string_view kClass = "RunSpec";
  std::string name;
  std::string storage_path;  // absolute
  std::string script;
  std::vector<std::string> command;
  std::vector<std::string> tags;
  std::string note;
  store::ResumeMode resume = store::ResumeMode::kNever;
  bool is_local = false;            // rank 0 is the process that called fit()
  std::optional<JoinedRanks> join;  // the other ranks are processes of a launcher
  double start_timeout_s = 0;       // of each phase of the start-up
  int min_workers = 1;
  int max_workers = 1;  // more than min: elastic
  double elastic_resize_monitor_interval_s = 0;
  int cpus_per_worker = 0;     // its threads; 0: cores / workers, unless OMP_NUM_THREADS is set
  int ingest_cpus = 0;         // of each worker's processes that read its datasets
  double gpus_per_worker = 0;  // a part of one below 1
  decide::PlacementStrategy placement_strategy = decide::PlacementStrategy::kSpread;
  bool oversubscribe = false;    // takes no lease: shares what other runs hold, and waits for none
  std::string accelerator_type;  // that its GPUs are of; empty: any
  StringPairs worker_env;        // added to this process's
  bool uses_torch = false;       // its workers make tensors
  std::string functions;         // the train function and its config, serialized
  Value train_loop_config;       // plain data, for the record
  Value scaling_config;          // the same
  Value checkpoint_config;
  FailureSpec failure_config;
  HealthSpec health_config;
  std::optional<ValidationSpec> validation_config;
  bool mirrors = false;    // there is a storage_filesystem
  bool can_fetch = false;  // with a `get`
  std::string backend;
  double timeout_s = 0;        // of waits in user code
  int64_t log_bytes = 0;       // that a rank's log keeps in an attempt; 0: all
  bool has_callbacks = false;  // of the user's, which are to see a failure before the next attempt
  bool wants_reports = false;  // the user's callbacks or predicate are to see every report
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

  // From here on: not of Lua, but of environment variables of an operator, for all runs.
  double silent_threshold_s = 600;  // a control thread that has stopped for that long
  decide::SyncSettings collectives;
  double report_notice_s = 60;    // how long a checkpoint may wait for a rank before a line says so
  double resource_notice_s = 30;  // between lines about cores that are waited for
  double gpu_sample_s = 5;        // between two looks at the activity of the devices; 0: none
  double host_sample_s = 5;       // the same of the ranks' processes and their nodes
  double callback_timeout_s = 60;  // of the user's callbacks before a retry
  int port = 0;                    // where other nodes of its job reach the run; 0: there are none

  // 0: not said.
  int total_cpus_per_worker() const {
    return cpus_per_worker == 0 ? 0 : cpus_per_worker + ingest_cpus;
  }
  decide::FailureLimits failure_limits() const;
  decide::HangLimits hang_limits() const;

  // It takes part in what a launcher allotted on several nodes. In local mode without processes of
  // the launcher it trains on this node alone.
  bool uses_nodes() const { return !is_local || join; }

  // With what environment variables set, which goes before the script. Throws Error(kArgument) for
  // a field that is unknown, missing or of a wrong type, kConfig for one out of range and for a
  // variable that makes no sense.
  static RunSpec from_value(Value value);
};

decide::ScalingPolicy scaling_policy(const RunSpec& spec);

}  // namespace rtrain::train
