// host/train/run/run_spec.h: the specification of a run, as rtrain._controller.open() got it.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "host/base/value.h"
#include "host/decide/failure_policy.h"
#include "host/decide/hang_verdict.h"
#include "host/decide/placement.h"
#include "host/decide/scaling_policy.h"
#include "host/decide/sync_board.h"
#include "host/node/job_spec.h"
#include "host/store/runs/new_run.h"

namespace rtrain {

// The validation of checkpoints.
struct ValidationSpec {
  bool has_function = false;  // the trainer has a validation_config
  int max_concurrent = 1;
  int threads = 1;
  double drain_timeout_s = 0;  // at the end of the run; 0: without limit

  static ValidationSpec from_value(const Value& value);
};

// The treatment of hosts that may be bad.
struct HealthSpec {
  bool preflight = true;           // hosts are checked before they are used
  double preflight_timeout_s = 2;  // of each check
  bool monitor = true;             // they are looked after while they are
  bool has_evaluators = false;     // the script decides
};

struct RunSpec {
  std::string name;
  std::string storage_path;  // absolute
  std::string script;
  std::vector<std::string> command;
  std::vector<std::string> tags;
  std::string note;
  ResumeMode resume = ResumeMode::kNever;
  bool local = false;            // rank 0 is the process that called fit()
  std::optional<JoinSpec> join;  // the other ranks are processes that a launcher has started
  int64_t fit = 1;               // theirs, and this one's: the script's first fit(), second, …
  int min_workers = 1;
  int max_workers = 1;            // more than min: elastic
  double resize_interval_s = 60;  // how often an elastic group is looked at
  int threads = 0;             // of each worker; 0: cores / workers, unless OMP_NUM_THREADS is set
  int ingest_cores = 0;        // of each worker's processes that read its datasets
  double gpus_per_worker = 0;  // a part of one below 1
  PlacementStrategy placement = PlacementStrategy::kSpread;
  bool oversubscribe = false;    // takes no lease: shares what other runs hold, and waits for none
  std::string accelerator_type;  // that its GPUs are of; empty: any
  std::vector<std::pair<std::string, std::string>> worker_env;  // added to this process's
  bool uses_torch = false;                                      // its workers make tensors
  std::string functions;  // the train function and its config, serialized
  Value config;           // plain data, for the record
  Value scaling;
  Value checkpoint_config;
  FailureLimits failure_limits;
  int max_heals = -1;  // of train.elastic
  ValidationSpec validation;
  bool mirrors = false;    // there is a storage_filesystem
  bool can_fetch = false;  // with a `get`
  std::string backend = "cpu:shm,cuda:gloo";
  double timeout_s = 1800;     // of waits in user code
  int64_t log_bytes = 0;       // that a rank's log keeps in an attempt; 0: all
  bool has_callbacks = false;  // of the user's, which are to see a failure before the next attempt
  bool wants_reports = false;  // the user's callbacks or predicate are to see every report
  double preemption_grace_s = 30;  // from the request to stop to the end of the workers
  HangLimits hang_limits;
  HealthSpec health;
  SyncSettings collectives;
  double report_notice_s = 60;    // how long a checkpoint may wait for a rank before a line says so
  double resource_notice_s = 30;  // between lines about cores that are waited for
  double gpu_sample_s = 5;        // between two looks at the activity of the devices; 0: none
  double host_sample_s = 5;       // the same of the ranks' processes and their hosts
  double callback_timeout_s = 60;  // of the user's callbacks before a retry
  double start_timeout_s = 60;     // of each phase of the start-up
  double node_timeout_s = 30;      // a host that has not been heard of for that long is lost
  int port = 0;                    // where other hosts of its job reach the run; 0: there are none
  std::string git_commit;
  bool git_dirty = false;
  bool git_diff_cut = false;  // the sources have only the beginning of the diff
  List sources;               // {kind, path, text}: host/store/runs/source_store.h

  // 0: not said.
  int cores_per_worker() const { return threads == 0 ? 0 : threads + ingest_cores; }

  // It takes part in what a launcher allotted on several hosts. In local mode without processes of
  // the launcher it trains on this host alone.
  bool uses_hosts() const { return !local || join; }

  // With what environment variables set. Throws Error(kArgument) for a field that is missing or
  // of a wrong type, kConfig for one out of range and for a variable that makes no sense.
  static RunSpec from_value(const Value& value);
};

ScalingPolicy scaling_policy(const RunSpec& spec);

}  // namespace rtrain
