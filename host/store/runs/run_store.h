// host/store/runs/run_store.h: the record of one run, as its controller writes it.
//
// Owned by the controller's io thread. Holds the run's lock from open() to destruction. Each
// method is one transaction that fails with Error(kEnvironment) when another controller has taken
// the run over (owner_epoch), so that nothing is written after that. Times are milliseconds since
// 1970 UTC.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "host/base/value.h"
#include "host/store/runs/run_opening.h"

namespace rtrain {

struct WorkerRow {
  int64_t rank = 0;
  int64_t pid = 0;
  std::string host;
  std::string device;
  std::optional<int64_t> exit_code;
  std::optional<int64_t> signal;
};

struct ReportRow {
  int64_t attempt = 0;
  int64_t index = 0;
  int64_t rank = 0;
  int64_t time_ms = 0;
  Value metrics;
};

// When reports should be written: gathered for that long, and that long after the write before.
struct BatchPace {
  double gather_s = 0.03;  // 1 s on network file systems
  double pause_s = 0;
};

class RunStore {
 public:
  // Begins the run or takes it over, as run.resume says (run_opening.h has the rules and errors).
  static std::unique_ptr<RunStore> open(const NewRun& run);

  // Of a run that was taken over: what went before.
  bool resumed() const { return resumed_; }
  int64_t last_attempt() const { return last_attempt_; }
  const Value& failures() const { return failures_; }
  const std::string& notice() const { return notice_; }

  const std::string& run_id() const { return claim_.run_id; }
  const std::string& name() const { return claim_.name; }
  const std::string& run_path() const { return claim_.run_path; }
  int64_t owner_epoch() const { return claim_.owner_epoch; }
  // For the small stores next to this one: they write through FencedWrite.
  RunClaim& claim() { return claim_; }

  void set_status(std::string_view status);

  // Committed in full before it returns: call it before the first spawn. Reports after
  // `resumed_index` (nothing: all) of earlier attempts become superseded. Returns the attempt's
  // nonce.
  std::string begin_attempt(int64_t attempt, int num_workers, std::optional<int64_t> resumed_index);
  // Inserts or replaces the workers of the attempt.
  void set_workers(int64_t attempt, std::span<const WorkerRow> workers);
  void end_attempt(int64_t attempt, std::string_view status, const Value& error);
  // The attempt has replaced lost workers, in that time.
  void set_heal(int64_t attempt, double seconds);

  // One transaction; durable on the disk at least once a second while reports come.
  void add_reports(std::span<const ReportRow> reports);
  // Those that came after their attempt was over, without the ones that are there already, and
  // without those of an attempt that this run never had. Durable when it returns; how many were
  // new.
  int64_t add_late_reports(std::span<const ReportRow> reports);
  // Puts what add_reports has committed on the disk, if anything is not yet there.
  void sync_reports();
  // When the next add_reports should come.
  BatchPace batch_pace() const;

  // status: FINISHED, ERRORED or ABORTED. Error: nil, or {code, message, traceback, ranks}.
  // return_value: what rank 0's train function returned.
  void end_run(std::string_view status, const Value& error, const Value& return_value = {});
  // Where end_run could not write: puts the end where the next controller finds it. False when that
  // is not possible, or the run is another controller's.
  bool keep_end(std::string_view status, const Value& error);
  // What is spent of each retry budget: a controller that takes the run over goes on with it.
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

}  // namespace rtrain
