#include "host/store/runs/run_store.h"

#include <algorithm>

#include "host/base/clock.h"
#include "host/base/codec/json.h"
#include "host/base/fault.h"
#include "host/base/random.h"
#include "host/base/text/text.h"
#include "host/store/claim/fenced_write.h"
#include "host/store/db/row_values.h"
#include "host/store/db/stored_metrics.h"
#include "host/store/files/file.h"

namespace rtrain::store {
namespace {

constexpr double kSyncIntervalS = 1.0;

}  // namespace

RunStore::RunStore(OpenedRun opened)
    : claim_(std::move(opened.claim)),
      resumed_(opened.resumed),
      last_attempt_(opened.last_attempt),
      failures_(std::move(opened.failures)),
      notice_(std::move(opened.notice)) {}

std::unique_ptr<RunStore> RunStore::open(const NewRun& run) {
  return std::unique_ptr<RunStore>(new RunStore(open_run(run)));
}

void RunStore::set_status(std::string_view status) {
  write_fenced(claim_, Durability::kNormal, [&](FencedWrite& write) {
    write.run("UPDATE runs SET status = ? WHERE run_id = ?", status, claim_.run_id);
  });
}

std::string RunStore::begin_attempt(int64_t attempt, int num_workers,
                                    std::optional<int64_t> resumed_index) {
  const std::string nonce = random_hex(8);
  write_fenced(claim_, Durability::kFull, [&](FencedWrite& write) {
    write.run(
        "INSERT INTO attempts(run_id, attempt, num_workers, nonce, status, resumed_index, "
        "started_at) VALUES(?, ?, ?, ?, 'RUNNING', ?, ?)",
        claim_.run_id, attempt, num_workers, nonce, resumed_index, now_ms());
    write.run("UPDATE runs SET num_workers = ? WHERE run_id = ?", num_workers, claim_.run_id);
    write.run("UPDATE reports SET superseded = 1 WHERE run_id = ? AND attempt < ? AND idx > ?",
              claim_.run_id, attempt, resumed_index.value_or(-1));
  });
  return nonce;
}

void RunStore::set_workers(int64_t attempt, std::span<const WorkerRow> workers) {
  write_fenced(claim_, Durability::kNormal, [&](FencedWrite& write) {
    Statement insert = write.prepare(
        "INSERT OR REPLACE INTO workers(run_id, attempt, rank, pid, host, device, exit_code, "
        "signal) VALUES(?, ?, ?, ?, ?, ?, ?, ?)");
    for (const WorkerRow& worker : workers) {
      insert.add(claim_.run_id).add(attempt).add(worker.rank).add(worker.pid).add(worker.host);
      insert.add(worker.device).add(worker.exit_code).add(worker.signal).run();
    }
  });
}

void RunStore::end_attempt(int64_t attempt, std::string_view status, const Value& error) {
  write_fenced(claim_, Durability::kFull, [&](FencedWrite& write) {
    write.run(
        "UPDATE attempts SET status = ?, ended_at = ?, error = ? WHERE run_id = ? AND attempt = ?",
        status, now_ms(), optional_json(error), claim_.run_id, attempt);
  });
}

void RunStore::set_heal(int64_t attempt, double seconds) {
  write_fenced(claim_, Durability::kNormal, [&](FencedWrite& write) {
    write.run("UPDATE attempts SET heal_s = ? WHERE run_id = ? AND attempt = ?", seconds,
              claim_.run_id, attempt);
  });
}

void RunStore::add_reports(std::span<const Report> reports) {
  if (reports.empty()) return;
  const bool sync_is_due = monotonic_s() - claim_.last_sync_s >= kSyncIntervalS;
  const Durability durability = sync_is_due ? Durability::kFull : Durability::kNormal;
  write_fenced(claim_, durability, [&](FencedWrite& write) {
    // A node may have brought one of them as a late report, of a rank that was taken for gone.
    Statement insert = write.prepare(
        "INSERT OR REPLACE INTO reports(run_id, attempt, idx, rank, time, metrics, nonfinite) "
        "VALUES(?, ?, ?, ?, ?, ?, ?)");
    for (const Report& report : reports) {
      const StoredMetrics stored = store_metrics(or_empty_map(report.metrics));
      insert.add(claim_.run_id).add(report.attempt).add(report.index).add(report.rank);
      insert.add(report.time_ms).add(stored.json).add(stored.nonfinite).run();
    }
  });
}

int64_t RunStore::add_late_reports(std::span<const Report> reports) {
  int64_t added = 0;
  write_fenced(claim_, Durability::kFull, [&](FencedWrite& write) {
    added = 0;
    for (const Report& report : reports) {
      const StoredMetrics stored = store_metrics(or_empty_map(report.metrics));
      added += write.run(
          "INSERT OR IGNORE INTO reports(run_id, attempt, idx, rank, time, metrics, nonfinite, "
          "superseded) SELECT run_id, attempt, ?3, ?4, ?5, ?6, ?7, EXISTS(SELECT 1 FROM attempts "
          "AS later WHERE later.run_id = ?1 AND later.attempt > ?2 AND "
          "coalesce(later.resumed_index, -1) < ?3) FROM attempts WHERE run_id = ?1 AND attempt = "
          "?2",
          claim_.run_id, report.attempt, report.index, report.rank, report.time_ms, stored.json,
          stored.nonfinite);
    }
  });
  return added;
}

void RunStore::sync_reports() {
  if (!claim_.unsynced) return;
  write_fenced(claim_, Durability::kFull, [](FencedWrite&) {});
}

BatchPace RunStore::batch_pace() const {
  constexpr double kNetworkS = 1.0;
  constexpr double kLongestS = 5.0;
  BatchPace pace;
  if (claim_.database.on_network()) pace.gather_s = kNetworkS;
  // Writing takes at most a fifth of the time, so that readers and other controllers get in
  // between.
  pace.pause_s = std::min(4 * claim_.commit_s, kLongestS);
  return pace;
}

void RunStore::end_run(std::string_view status, const Value& error, const Value& return_value) {
  write_fenced(claim_, Durability::kFull, [&](FencedWrite& write) {
    write.run(
        "UPDATE runs SET status = ?, ended_at = ?, error = ?, return_value = ? WHERE run_id = ?",
        status, now_ms(), optional_json(error), optional_json(return_value), claim_.run_id);
  });
  claim_.end.remove();
}

bool RunStore::keep_end(std::string_view status, const Value& error) {
  if (claim_.lost) return false;
  try {
    claim_.end.write(claim_.run_id, claim_.owner_epoch, status, error);
    return true;
  } catch (const Error&) {
    return false;
  }
}

void RunStore::set_failures(const Value& failures) {
  write_fenced(claim_, Durability::kFull, [&](FencedWrite& write) {
    write.run("UPDATE runs SET failures = ? WHERE run_id = ?", to_json(failures), claim_.run_id);
  });
  failures_ = failures;
}

void RunStore::add_event(int64_t attempt, std::string_view level, std::string_view text) {
  write_fenced(claim_, Durability::kNormal, [&](FencedWrite& write) {
    write.run("INSERT INTO events(run_id, attempt, time, level, text) VALUES(?, ?, ?, ?, ?)",
              claim_.run_id, attempt, now_ms(), level, text);
  });
}

}  // namespace rtrain::store
