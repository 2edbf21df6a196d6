// rtrain metrics RUN: the reported metrics, one row per report.
#include <algorithm>
#include <memory>
#include <unordered_set>

#include "host/base/codec/metric_path.h"
#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/cli/parser/command.h"
#include "host/cli/screen/listing.h"
#include "host/store/read/report_rows.h"
#include "host/store/series/series_store.h"

namespace rtrain::cli {
namespace {

struct Options : ListingOptions {
  bool ranks = false;
  bool all = false;
  std::string series;
};

// One line for each set of metrics: rank 0's, or with --ranks every rank's.
struct Line {
  const Value* report;
  const Value* metrics;
  size_t rank;
};

std::vector<Line> lines_of(const List& reports, bool ranks) {
  std::vector<Line> lines;
  for (const Value& report : reports) {
    if (!ranks) {
      lines.push_back({&report, &report["metrics"], 0});
      continue;
    }
    const List& by_rank = report["ranks"].as_list();
    for (size_t rank = 0; rank < by_rank.size(); ++rank) {
      if (!by_rank[rank].is_nil()) lines.push_back({&report, &by_rank[rank], rank});
    }
  }
  return lines;
}

std::vector<std::string> names_of(const std::vector<Line>& lines) {
  std::vector<std::string> names;
  std::unordered_set<std::string> known;
  for (const Line& line : lines) {
    each_metric(*line.metrics, [&](const std::string& name, const Value&) {
      if (known.insert(name).second) names.push_back(name);
    });
  }
  return names;
}

void print_metrics(const List& reports, const Options& options) {
  const std::vector<Line> lines = lines_of(reports, options.ranks);
  const std::vector<std::string> names = names_of(lines);
  std::vector<Column> columns{{.header = "INDEX", .right = true, .key = true}};
  if (options.ranks) columns.push_back({.header = "RANK", .right = true, .key = true});
  columns.insert(columns.end(), {{"ATTEMPT", true}, {"TIME (UTC)"}});
  for (const std::string& name : names) columns.push_back({brief_name(name), true});
  if (options.all) columns.push_back({""});
  std::vector<std::vector<std::string>> rows;
  for (const Line& line : lines) {
    const Value& report = *line.report;
    std::vector<std::string> row{cat(report["index"].as_int())};
    if (options.ranks) row.push_back(cat(line.rank));
    row.push_back(cat(report["attempt"].as_int()));
    row.push_back(human_time(report["time"]));
    for (const std::string& name : names) {
      const Value* found = find_metric(*line.metrics, name);
      row.push_back(found == nullptr ? "" : brief_value(human_number(*found)));
    }
    if (options.all) row.push_back(report["superseded"].as_bool() ? "superseded" : "");
    rows.push_back(std::move(row));
  }
  print_table(columns, rows, options.width());
}

// Returns the points of --series. Throws Error(kUsage) for an unknown key, with the known ones.
List points_of(store::OpenRun& run, const Options& options) {
  store::Database& database = run.store.database();
  List found = store::read_series(database, run.ref.run_id, options.series, options.all);
  if (!found.empty()) return found;
  const std::vector<std::string> keys = store::series_keys(database, run.ref.run_id);
  if (std::find(keys.begin(), keys.end(), options.series) != keys.end()) return found;
  const std::string hint =
      keys.empty() ? ": it logged none (train.log)" : suggestion(options.series, keys);
  throw Error(Code::kUsage,
              cat("the run '", run.ref.name, "' has no series '", options.series, "'", hint));
}

void print_series(const List& points, const Options& options) {
  std::vector<Column> columns{{"STEP", true}, {"TIME (UTC)"}, {"RANK", true}, {"VALUE", true}};
  if (options.all) columns.insert(columns.end(), {{"ATTEMPT", true}, {""}});
  std::vector<std::vector<std::string>> rows;
  for (const Value& point : points) {
    std::vector<std::string> row{cat(point["step"].as_int()), human_time(point["time"]),
                                 cat(point["rank"].as_int()), human_number(point["value"])};
    if (options.all) {
      row.push_back(cat(point["attempt"].as_int()));
      row.push_back(point["superseded"].as_bool() ? "superseded" : "");
    }
    rows.push_back(std::move(row));
  }
  print_table(columns, rows, options.width());
}

}  // namespace

void add_metrics(Parser& parser) {
  auto options = std::make_shared<Options>();
  Command command = parser.command("metrics", "Show the metrics that a run reported");
  add_run_argument(command, *options);
  command.flag("--ranks", &options->ranks, "every rank's metrics, not rank 0's alone");
  command.flag("--superseded", &options->all, "also reports that a later attempt superseded");
  command.old_flag("--all", &options->all, "--superseded");
  command.option("--series", &options->series, "the points that train.log recorded under this key")
      .value_name("KEY")
      .offers({.sources = {Source::kMetrics}});
  add_listing_options(command, *options);
  add_wide_option(command, *options);
  command.footer(
      "Keys of --json, for each report: index, attempt, time, metrics; with --ranks: ranks (their\n"
      "metrics); with --superseded: superseded. Of --series, for each point: step, time, rank,\n"
      "value; with --superseded: attempt, superseded");
  command.action([options] {
    store::OpenRun run = options->open_run();
    if (!options->series.empty()) {
      const List points = points_of(run, *options);
      if (options->for_programs()) return options->print(points);
      return print_series(points, *options);
    }
    const List reports = store::report_rows(run.store.database(), run.ref.run_id,
                                            {.ranks = options->ranks, .all = options->all});
    if (options->for_programs()) return options->print(reports);
    print_metrics(reports, *options);
  });
}

}  // namespace rtrain::cli
