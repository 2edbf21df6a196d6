// host/store/read/run_reader.h: the read side of the store: what the listing commands and
// Result.from_path show.
//
// Works alongside a live controller, in a folder that cannot be written, and without LibTorch.
// Every answer is plain data with the keys that the commands document; times are RFC 3339 UTC
// texts. A run that has not ended and whose controller is gone is shown as LOST, one that was
// submitted and has not begun as QUEUED. Wrong names and expressions are Error(kUsage).
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

namespace rtrain {

struct OpenRun;

// What one rank reported.
struct RankReport {
  int64_t index = 0;
  int64_t attempt = 0;
  int64_t time_ms = 0;
  Value metrics;  // a map
};

// Indices of reports, both included; none where the last is below the first.
struct ReportRange {
  int64_t first = 0;
  int64_t last = -1;
};

// Some rows of a list.
struct RowRange {
  int64_t offset = 0;
  int64_t limit = -1;  // -1: all
};

class RunReader {
 public:
  // Nothing when the storage has no store yet.
  static std::optional<RunReader> open(const std::string& storage_path);
  // The store and the run in it. Error(kUsage) also when there is no store.
  static OpenRun open_run(const std::string& storage_path, const std::string& run);

  // The run that a user means: host/store/read/run_resolver.h.
  RunRef find(const std::string& run);

  // As RunListing::rows, count and count_by_status.
  List runs(const RunFilter& filter);
  int64_t count(const RunFilter& filter);
  Map count_by_status();
  // Of the rows of runs(): host/store/read/best_run.h.
  std::optional<BestRun> best(const RunFilter& filter, const List& runs);
  // The runs whose end is not in the store: those that go on, wait in a queue, or were lost.
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
  // {tag, runs, started_at} of all tags: how many runs have it, when the last of them began; the
  // newest first.
  List tags();
  // {note, error, return_value, checkpoint_config, events}: what is for people and for
  // Result.from_path.
  Value details(const RunRef& run);
  // {kind, path, text}: host/store/runs/source_store.h.
  List sources(const RunRef& run);
  // What train.log wrote under the key: host/store/series/series_store.h. Error(kUsage) for an
  // unknown key, with the keys there are.
  List series(const RunRef& run, const std::string& key, bool all);
  // The numbers that the rank reported under that name, or logged (train.log), in order; steps of
  // reports are their indices. What was superseded is left out.
  std::vector<SeriesPoint> reported(const RunRef& run, const std::string& metric, int64_t rank);
  std::vector<SeriesPoint> logged(const RunRef& run, const std::string& key, int64_t rank);
  // The ranks of which either of them has something, sorted. Reads all reports.
  std::vector<int64_t> ranks_with(const RunRef& run, const std::string& name);
  // Calls see(point) for each that counts of the key, of all ranks where none is given:
  // each_logged_point in host/store/series/series_store.h.
  void each_point(const RunRef& run, const std::string& key, std::optional<int64_t> rank,
                  const std::function<void(const LoggedPoint&)>& see);
  // What logged() gives as columns, for drawing: host/store/series/series_chart.h.
  std::vector<SeriesSummary> charted(const RunRef& run, const std::string& key, int64_t rank,
                                     const ChartQuery& query);
  // What reported() gives, as columns too; nothing where it gives nothing at all.
  std::optional<std::vector<SeriesSummary>> charted(ReportCharts& charts, const RunRef& run,
                                                    const std::string& metric, int64_t rank,
                                                    const ChartQuery& query);
  // The keys of logged(), and with what reported() has something for, sorted. Of long runs `charts`
  // knows the latter without reading all reports again.
  std::vector<std::string> series_names(const RunRef& run);
  std::vector<std::string> curve_names(const RunRef& run, ReportCharts& charts);
  // Calls see(report) for each report of rank 0 that counts, in order: one is held at a time.
  void each_report(const RunRef& run, const std::function<void(const RankReport&)>& see);
  // The indices of all reports of the run.
  ReportRange report_range(const RunRef& run);
  // The metrics of those that each_report() sees with these indices, as
  // host/store/db/stored_metrics.h keeps them: see(json, nonfinite).
  void each_stored_metrics(const RunRef& run, ReportRange range,
                           const std::function<void(std::string_view, std::string_view)>& see);
  // What train.log_image and its like recorded: host/store/runs/media_store.h.
  std::vector<MediaRow> media(const RunRef& run);
  std::string media_content(const RunRef& run, const std::string& hash);
  // Rows {index, attempt, time, metrics}; ranks adds `ranks`, a list by rank; all adds superseded
  // rows. Of a page only its own rows are read.
  List metrics(const RunRef& run, bool ranks, bool all, RowRange page = {});
  // How many rows those are without a page.
  int64_t count_metrics(const RunRef& run, bool all);
  // {name, path, index, attempt, metrics, size_bytes, created_at, status, latest, best}, `problem`
  // where its validation failed; all adds `kept`, `state` and dropped and missing ones.
  List checkpoints(const RunRef& run, bool all);

  // As long as it is held, every answer is of the store as it is now. A live run goes on writing,
  // but for one on a network file system, which waits.
  Statement hold();

  // True while a controller owns the run.
  bool is_live(const RunRef& run) const;
  bool is_archived(const RunRef& run);

  // Any query; rows as maps in the order of the columns. Only reading is allowed.
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
  std::unique_ptr<std::string> storage_path_;  // SQL functions point to it
};

// A run and the store it is in.
struct OpenRun {
  RunReader reader;
  RunRef ref;

  // run() and details() in one map.
  Value everything();
};

}  // namespace rtrain
