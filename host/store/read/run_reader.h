// host/store/read/run_reader.h: the read side of the store, for the listing commands and
// Result.from_path.
//
// Works while a controller is live, in a read-only folder, and without LibTorch. Results are plain
// data with the documented keys; times are RFC 3339 UTC strings. A run that has not ended and whose
// controller is gone is shown as LOST; one that was submitted but has not begun, as QUEUED. Wrong
// names and expressions are Error(kUsage).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/base/value.h"
#include "host/store/db/database.h"
#include "host/store/read/best_run.h"
#include "host/store/read/report_charts.h"
#include "host/store/read/run_listing.h"
#include "host/store/read/run_resolver.h"
#include "host/store/runs/media_store.h"
#include "host/store/series/series_chart.h"
#include "host/store/series/series_chunk.h"
#include "host/store/series/series_store.h"

namespace rtrain::store {

struct OpenRun;

// One report of one rank.
struct RankReport {
  int64_t index = 0;
  int64_t attempt = 0;
  int64_t time_ms = 0;
  Value metrics;  // a map
};

// A range of report indices, both ends included; empty if the last is below the first.
struct ReportRange {
  int64_t first = 0;
  int64_t last = -1;
};

// A range of rows of a list.
struct RowRange {
  int64_t offset = 0;
  int64_t limit = -1;  // -1: all
};

// One method for each question that a command or a page asks: all answers come over one
// connection, so they fit together.
class RunReader {
 public:
  // Returns nullopt if the storage has no store yet.
  static std::optional<RunReader> open(const std::string& storage_path);
  // Opens the store and finds the run. Error(kUsage) also if there is no store.
  static OpenRun open_run(const std::string& storage_path, const std::string& run);

  // Resolves a user's name for a run: host/store/read/run_resolver.h.
  RunRef find(const std::string& run);

  // As RunListing::rows, count and count_by_status.
  List runs(const RunFilter& filter);
  int64_t count(const RunFilter& filter);
  Map count_by_status();
  // The best of the rows of runs(): host/store/read/best_run.h.
  std::optional<BestRun> best(const RunFilter& filter, const List& runs);
  // Runs without an end in the store: live, queued or lost.
  std::vector<RunRef> unfinished();
  // The keys of runs(), and those of host/store/read/run_progress.h.
  Value progress(const RunRef& run);
  // Those keys, config, scaling, attempts, checkpoints, best_checkpoints, annotations, nodes, path,
  // environment.
  Value run(const RunRef& run);
  // As read_hosts has them: host/store/runs/node_store.h.
  List hosts(const RunRef& run);
  // As run() has it.
  Value config(const RunRef& run);
  // {tag, runs, started_at} of all tags: the number of runs with it and the start of the newest
  // one; newest tag first.
  List tags();
  // {note, error, return_value, checkpoint_config, events}, for users and
  // Result.from_path.
  Value details(const RunRef& run);
  // {kind, path, text}: host/store/runs/source_store.h.
  List sources(const RunRef& run);
  // The points of train.log under the key: host/store/series/series_store.h. Error(kUsage) for an
  // unknown key, with the known ones.
  List series(const RunRef& run, const std::string& key, bool all);
  // The numbers that the rank reported or logged (train.log) under the name, in order. For reports
  // a step is the index. Superseded ones are left out.
  std::vector<SeriesPoint> reported(const RunRef& run, const std::string& metric, int64_t rank);
  std::vector<SeriesPoint> logged(const RunRef& run, const std::string& key, int64_t rank);
  // The ranks with reports or logs under the name, sorted. Reads all reports.
  std::vector<int64_t> ranks_with(const RunRef& run, const std::string& name);
  // Calls see(point) for each valid point of the key, of all ranks if none is given:
  // each_logged_point in host/store/series/series_store.h.
  void each_point(const RunRef& run, const std::string& key, std::optional<int64_t> rank,
                  const std::function<void(const LoggedPoint&)>& see);
  // The logged points as chart columns: host/store/series/series_chart.h.
  std::vector<SeriesSummary> charted(const RunRef& run, const std::string& key, int64_t rank,
                                     const ChartQuery& query);
  // The reported numbers as chart columns; nullopt if there are none.
  std::optional<std::vector<SeriesSummary>> charted(ReportCharts& charts, const RunRef& run,
                                                    const std::string& metric, int64_t rank,
                                                    const ChartQuery& query);
  // The names of all logged and reported numbers, sorted. For long runs `charts` avoids reading all
  // reports again.
  std::vector<std::string> series_names(const RunRef& run);
  std::vector<std::string> curve_names(const RunRef& run, ReportCharts& charts);
  // Calls see(report) for each valid report of rank 0, in order; holds one at a time.
  void each_report(const RunRef& run, const std::function<void(const RankReport&)>& see);
  // The indices of all reports of the run.
  ReportRange report_range(const RunRef& run);
  // Calls see(json, nonfinite) with the metrics of those reports in the range, in the form of
  // host/store/db/stored_metrics.h.
  void each_stored_metrics(const RunRef& run, ReportRange range,
                           const std::function<void(std::string_view, std::string_view)>& see);
  // Media that train.log_image and similar functions recorded: host/store/runs/media_store.h.
  std::vector<MediaRow> media(const RunRef& run);
  std::string media_content(const RunRef& run, const std::string& hash);
  // Rows {index, attempt, time, metrics}; `ranks` adds `ranks`, a list by rank; `all` adds
  // superseded rows. With `page` only the rows of that range are read.
  List metrics(const RunRef& run, bool ranks, bool all, RowRange page = {});
  // The number of those rows without `page`.
  int64_t count_metrics(const RunRef& run, bool all);
  // {name, path, index, attempt, metrics, size_bytes, created_at, status, latest, best}, and
  // `problem` if validation failed; `all` adds `kept`, `state`, and dropped and missing
  // checkpoints.
  List checkpoints(const RunRef& run, bool all);

  // While the statement is held, all results come from the store's current state. A live run
  // continues to write, except on a network file system, where it waits.
  Statement hold();

  // True while a controller owns the run.
  bool is_live(const RunRef& run) const;
  bool is_archived(const RunRef& run);

  // Runs any query that only reads. Rows are maps in the order of the columns.
  struct Table {
    std::vector<std::string> columns;
    std::vector<List> rows;
  };
  Table query(const std::string& sql);

 private:
  RunReader(Database database, std::string storage_path);
  List attempts(const RunRef& run);
  std::string store_uri() const;

  Database database_;
  std::unique_ptr<std::string> storage_path_;  // SQL functions keep a pointer to it
};

// A run and its open store.
struct OpenRun {
  RunReader reader;
  RunRef ref;

  // run() and details() in one map.
  Value everything();
};

}  // namespace rtrain::store
