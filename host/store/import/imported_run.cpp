#include "host/store/import/imported_run.h"

#include <algorithm>
#include <limits>
#include <set>
#include <span>

#include "host/base/clock.h"
#include "host/base/codec/json.h"
#include "host/base/error.h"
#include "host/base/random.h"
#include "host/base/text/text.h"
#include "host/machine/machine.h"
#include "host/store/checkpoints/object_storage.h"
#include "host/store/claim/run_name.h"
#include "host/store/claim/run_owner.h"
#include "host/store/db/stored_metrics.h"
#include "host/store/files/file.h"
#include "host/store/series/series_store.h"

namespace rtrain::store {
namespace {

constexpr size_t kChunkPoints = 4096;

struct Times {
  int64_t first = std::numeric_limits<int64_t>::max();
  int64_t last = std::numeric_limits<int64_t>::min();

  void add(int64_t time_ms) {
    first = std::min(first, time_ms);
    last = std::max(last, time_ms);
  }
  bool is_empty() const { return first > last; }
};

List texts(const std::vector<std::string>& words) { return List(words.begin(), words.end()); }

void check_name(Database& database, const std::string& storage_path, const std::string& name) {
  if (const std::string problem = run_name_problem(name); !problem.empty()) {
    throw Error(Code::kUsage, cat("import: '", name, "' cannot be a run's name: ", problem,
                                  ": say another one with --name"));
  }
  Statement known = database.prepare("SELECT 1 FROM runs WHERE name = ?");
  if (!known.add(name).next() && !path_exists(cat(storage_path, "/", name))) return;
  throw Error(Code::kUsage, cat("import: there is a run '", name, "' in ", storage_path,
                                " already: say another name with --name"));
}

class Importer {
 public:
  Importer(Database& database, const ImportedRun& run)
      : database_(database), run_(run), run_id_(random_hex(16)) {}

  void add() {
    for (const Report& report : run_.reports) {
      all_.add(report.time_ms);
      attempts_[report.attempt].add(report.time_ms);
    }
    for (const ImportedSeries& series : run_.series) {
      for (const SeriesPoint& point : series.points) {
        all_.add(point.time_ms);
        attempts_[1].add(point.time_ms);
      }
    }
    if (all_.is_empty()) all_.add(now_ms());
    add_run();
    add_attempts();
    add_reports();
    for (const ImportedSeries& series : run_.series) add_series(series);
  }

 private:
  void add_run() {
    const std::string environment = to_json(Map{{"git_commit", nullptr},
                                                {"git_dirty", nullptr},
                                                {"hostname", machine::hostname()},
                                                {"command", texts(run_.command)}});
    database_.run(
        "INSERT INTO runs(run_id, name, status, num_workers, script, note, command, tags, config, "
        "scaling, checkpoint_config, environment, started_at, ended_at, updated_at, owner_epoch, "
        "owner) VALUES(?, ?, 'FINISHED', 1, '', ?, ?, ?, '{}', '{}', '{}', ?, ?, ?, ?, 0, ?)",
        run_id_, run_.name, run_.note, to_json(texts(run_.command)), to_json(texts(run_.tags)),
        environment, all_.first, all_.last, now_ms(), RunOwner::of_this_process().to_json());
  }

  void add_attempts() {
    for (const auto& [attempt, times] : attempts_) {
      database_.run(
          "INSERT INTO attempts(run_id, attempt, nonce, status, started_at, ended_at, num_workers) "
          "VALUES(?, ?, ?, 'FINISHED', ?, ?, 1)",
          run_id_, attempt, random_hex(16), times.first, times.last);
    }
  }

  void add_reports() {
    Statement insert = database_.prepare(
        "INSERT INTO reports(run_id, attempt, idx, rank, time, metrics, nonfinite) "
        "VALUES(?, ?, ?, ?, ?, ?, ?)");
    for (const Report& report : run_.reports) {
      const StoredMetrics stored = store_metrics(report.metrics);
      insert.add(run_id_).add(report.attempt).add(report.index).add(report.rank);
      insert.add(report.time_ms).add(stored.json).add(stored.nonfinite).run();
    }
  }

  void add_series(const ImportedSeries& series) {
    database_.run("INSERT INTO series(run_id, key, rank, attempt) VALUES(?, ?, ?, 1)", run_id_,
                  series.key, series.rank);
    Statement last = database_.prepare("SELECT last_insert_rowid()");
    last.next();
    const int64_t id = last.integer(0);
    ChunkWriter writer(database_);
    int64_t number = 0;
    for (size_t begin = 0; begin < series.points.size(); begin += kChunkPoints) {
      const std::span points =
          std::span(series.points)
              .subspan(begin, std::min(kChunkPoints, series.points.size() - begin));
      writer.add(id, chunk_of(series.key, number++, points));
    }
  }

  Database& database_;
  const ImportedRun& run_;
  std::string run_id_;
  Times all_;
  std::map<int64_t, Times> attempts_;
};

}  // namespace

void add_imported_runs(const std::string& storage_path, const std::vector<ImportedRun>& runs) {
  if (ObjectStorage::of(storage_path)) {
    throw Error(Code::kUnsupported, "import: runs are imported into a folder, not an object store");
  }
  std::set<std::string> names;
  for (const ImportedRun& run : runs) {
    if (names.insert(run.name).second) continue;
    throw Error(Code::kUsage, cat("import: two runs would be called '", run.name,
                                  "': import them one by one, with --name"));
  }
  make_folders(storage_path);
  Database database = Database::open(storage_path + "/rtrain.db");
  Transaction transaction(database, Durability::kFull);
  for (const ImportedRun& run : runs) {
    check_name(database, storage_path, run.name);
    Importer(database, run).add();
  }
  for (const ImportedRun& run : runs) make_folders(cat(storage_path, "/", run.name));
  transaction.commit();
}

}  // namespace rtrain::store
