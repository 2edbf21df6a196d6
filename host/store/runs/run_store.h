// host/store/runs/run_store.h: writes the record of one run, for its controller.
//
// Owned by the controller's io thread. Holds the run's lock from open() to destruction. Each
// method is one transaction. It throws Error(kEnvironment) if another controller has taken
// over the run (owner_epoch); nothing is written after that. Times are milliseconds since 1970
// UTC.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "host/base/codec/report.h"
#include "host/base/value.h"
#include "host/store/runs/run_opening.h"

namespace rtrain::store {

struct WorkerRow {
  int64_t rank = 0;
  int64_t pid = 0;
  std::string host;
  std::string device;
  std::optional<int64_t> exit_code;
  std::optional<int64_t> signal;
};

// When to write reports: after collecting them for gather_s, and pause_s after the last write.
struct BatchPace {
  double gather_s = 0.03;  // 1 s on network file systems
  double pause_s = 0;
};

// One method for each kind of row.
class RunStore {
 public:
  // Begins the run or takes it over, according to run.resume (rules and errors: run_opening.h).
  static std::unique_ptr<RunStore> open(const NewRun& run);

  // For a run that was taken over: its earlier state.
  bool resumed() const { return resumed_; }
  int64_t last_attempt() const { return last_attempt_; }
  const Value& failures() const { return failures_; }
  const std::string& notice() const { return notice_; }

  const std::string& run_id() const { return claim_.run_id; }
  const std::string& name() const { return claim_.name; }
  const std::string& run_path() const { return claim_.run_path; }
  int64_t owner_epoch() const { return claim_.owner_epoch; }
  // Used by the small stores next to this one, which write through FencedWrite.
  RunClaim& claim() { return claim_; }

  void set_status(std::string_view status);

  // Fully committed when it returns: call it before the first worker is started. Marks reports of
  // earlier attempts after `resumed_index` (nullopt: all) as superseded. Returns the attempt's
  // nonce.
  std::string begin_attempt(int64_t attempt, int num_workers, std::optional<int64_t> resumed_index);
  // Inserts or replaces the workers of the attempt.
  void set_workers(int64_t attempt, std::span<const WorkerRow> workers);
  void end_attempt(int64_t attempt, std::string_view status, const Value& error);
  // Records that the attempt has replaced lost workers, and how long that took.
  void set_heal(int64_t attempt, double seconds);

  // One transaction. While reports arrive, they are durable on the disk at least once a second.
  void add_reports(std::span<const Report> reports);
  // Adds reports that arrived after their attempt had ended, except those already there and
  // those of an unknown attempt. Durable when it returns. Returns the number of new
  // reports.
  int64_t add_late_reports(std::span<const Report> reports);
  // Syncs reports of add_reports that are not on the disk yet.
  void sync_reports();
  // When to call add_reports next.
  BatchPace batch_pace() const;

  // status: FINISHED, ERRORED or ABORTED. error: nil, or {code, message, traceback, ranks}.
  // return_value: the return value of rank 0's train function.
  void end_run(std::string_view status, const Value& error, const Value& return_value = {});
  // For an end that end_run could not write: puts it where the next controller finds it. Returns
  // false if that fails, or if another controller owns the run.
  bool keep_end(std::string_view status, const Value& error);
  // Sets the used part of each retry budget, which a later controller of the run continues with.
  void set_failures(const Value& failures);
  // level: "info", "warning" or "error".
  void add_event(int64_t attempt, std::string_view level, std::string_view text);

 private:
  explicit RunStore(OpenedRun opened);

  RunClaim claim_;
  bool resumed_;
  int64_t last_attempt_;
  Value failures_;
  std::string notice_;
};

}  // namespace rtrain::store
