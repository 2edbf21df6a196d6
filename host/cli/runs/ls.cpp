// rtrain ls: the runs of a store.
#include <algorithm>
#include <array>
#include <iostream>
#include <memory>
#include <unordered_map>
#include <utility>

#include "host/base/codec/metric_path.h"
#include "host/base/text/counted.h"
#include "host/base/text/text.h"
#include "host/cli/parser/command.h"
#include "host/cli/runs/queued_runs.h"
#include "host/cli/screen/listing.h"
#include "host/store/read/best_run.h"
#include "host/store/read/run_listing.h"

namespace rtrain::cli {
namespace {

// A shorter wait is part of a normal start.
constexpr double kWaitS = 1;

// Which columns a narrow terminal leaves out: those with the largest number first.
enum Spare : size_t { kNever, kMetric, kRan, kStarted, kTags, kWaited, kWorkers, kMoreMetrics };
constexpr size_t kFewMetrics = 3;

// The runs of a list, and the columns that the user has named.
struct Listed {
  const List& runs;
  std::optional<store::BestRun> best;
  std::string sort;  // the key, without "-"
  std::vector<std::string> names;
  List cells = {};         // for each run a list with the values of these names
  bool is_chosen = false;  // the names are those of --columns
};

// A table with a row for each run.
class RunTable {
 public:
  explicit RunTable(size_t num_runs) : rows_(num_runs) {}

  // `text` returns the cell of the run at that position.
  template <class Text>
  void add(Column column, const Text& text) {
    columns_.push_back(std::move(column));
    for (size_t i = 0; i < rows_.size(); ++i) rows_[i].push_back(text(i));
  }
  // Returns the number of columns that were left out.
  size_t print(size_t width) const { return print_table(columns_, rows_, width); }

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

std::string tags_text(const Value& run) {
  std::vector<std::string> tags;
  for (const Value& tag : run["tags"].as_list()) tags.push_back(brief_name(tag.as_string()));
  return join(tags, ",");
}

std::string status_text(const Value& run) {
  const bool archived = run["archived"] == Value(true);
  return cat(run["status"].as_string(), archived ? " archived" : "");
}

std::string workers_text(const Value& run) {
  const int64_t num_workers = run["num_workers"].as_int();
  return run["status"] == Value("QUEUED") && num_workers == 0 ? "" : cat(num_workers);
}

std::string value_text(const Value& value) {
  return value.is_nil() ? "" : brief_value(human_number(value));
}

void add_own(RunTable& table, const Listed& listed) {
  const List& runs = listed.runs;
  const auto add = [&](Column column, const auto& text) {
    table.add(std::move(column), [&](size_t i) { return text(runs[i]); });
  };
  const auto seconds_in = [](const char* key) {
    return [key](const Value& run) { return human_duration(run[key].as_float()); };
  };
  const auto has_waited = [](const Value& run) { return run["waiting_s"].as_float() >= kWaitS; };
  const auto has_tags = [](const Value& run) { return !run["tags"].as_list().empty(); };
  table.add({.header = "NAME", .key = true}, [&](size_t i) {
    return cat(runs[i]["name"].as_string(), listed.best && listed.best->position == i ? " *" : "");
  });
  add({"STATUS"}, status_text);
  add({.header = "WORKERS", .right = true, .spare = kWorkers}, workers_text);
  add({.header = "STARTED (UTC)", .spare = kStarted},
      [](const Value& run) { return human_time(run["started_at"]); });
  if (std::ranges::any_of(runs, has_waited)) {
    add({.header = "WAITED", .right = true, .spare = kWaited}, seconds_in("waiting_s"));
  }
  add({.header = "RAN", .right = true, .spare = kRan}, seconds_in("running_s"));
  if (std::ranges::any_of(runs, has_tags)) add({.header = "TAGS", .spare = kTags}, tags_text);
}

void add_named(RunTable& table, const Listed& listed) {
  const Spare spare = listed.is_chosen ? kNever : kMetric;
  for (size_t column = 0; column < listed.names.size(); ++column) {
    const std::string& name = listed.names[column];
    const auto value = [&](size_t i) -> const Value& {
      const Value& cell = listed.cells[i].as_list()[column];
      const Value* metric = cell.is_nil() ? find_metric(listed.runs[i]["metrics"], name) : nullptr;
      return metric == nullptr ? cell : *metric;  // for SQL, NaN is nil
    };
    bool has_text = false;
    for (size_t i = 0; i < listed.runs.size(); ++i) has_text = has_text || value(i).is_string();
    table.add({.header = brief_name(name), .right = !has_text, .spare = spare},
              [&](size_t i) { return value_text(value(i)); });
  }
}

bool is_loss(const std::string& metric) {
  return metric.find("loss") != std::string::npos || metric.find("Loss") != std::string::npos;
}

// Adds the last metrics: `first`, then losses, then in the order in which runs have them.
void add_metrics(RunTable& table, const List& runs, const std::string& first) {
  std::vector<std::string> names;
  std::unordered_map<std::string, std::vector<std::string>> cells;
  for (size_t i = 0; i < runs.size(); ++i) {
    each_metric(runs[i]["metrics"], [&](const std::string& name, const Value& value) {
      std::vector<std::string>& column = cells[name];
      if (column.empty()) names.push_back(name);
      column.resize(runs.size());
      column[i] = value_text(value);
    });
  }
  std::stable_partition(names.begin(), names.end(), is_loss);
  const auto found = std::ranges::find(names, first);
  if (found != names.end()) std::rotate(names.begin(), found, found + 1);
  for (size_t i = 0; i < names.size(); ++i) {
    table.add({.header = brief_name(names[i]),
               .right = true,
               .spare = i < kFewMetrics ? kMetric : kMoreMetrics},
              [&column = cells[names[i]]](size_t run) { return column[run]; });
  }
}

// Whether a table without --columns has this column in any case.
bool is_usual(const std::string& name, const List& runs) {
  constexpr std::array kOwn = {"name",      "status",    "num_workers", "started_at",
                               "waiting_s", "running_s", "tags"};
  return std::ranges::find(kOwn, name) != kOwn.end() ||
         std::ranges::any_of(
             runs, [&](const Value& run) { return find_metric(run["metrics"], name) != nullptr; });
}

Listed listed_runs(store::Database& database, const List& runs, const std::string& sort,
                   const std::string& columns) {
  Listed out{.runs = runs,
             .best = store::best_run(database, sort, runs),
             .sort = sort.substr(sort.starts_with('-') ? 1 : 0),
             .names = columns.empty() ? std::vector<std::string>{} : split(columns, ','),
             .is_chosen = !columns.empty()};
  if (columns.empty() && !out.sort.empty() && !is_usual(out.sort, runs)) {
    out.names.push_back(out.sort);
  }
  if (out.names.empty()) return out;
  store::RunListing listing(database);
  listing.check_names("--columns", out.names);
  List ids;
  for (const Value& run : runs) ids.push_back(run["run_id"]);
  out.cells = listing.cells(ids, out.names);
  return out;
}

void print_runs(const Listed& listed, size_t width) {
  RunTable table(listed.runs.size());
  add_own(table, listed);
  add_named(table, listed);
  if (!listed.is_chosen) {
    add_metrics(table, listed.runs, listed.best ? listed.best->metric : listed.sort);
  }
  const size_t left_out = table.print(width);
  if (width == kAnyWidth) return;  // a program knows its own query
  if (listed.best) {
    std::cerr << "rtrain: * has the " << (listed.best->is_largest ? "largest " : "smallest ")
              << listed.best->metric << "\n";
  }
  if (left_out > 0) {
    std::cerr << "rtrain: " << counted(left_out, "more column")
              << ": --wide, or --columns NAME,…\n";
  }
}

}  // namespace

void add_ls(Parser& parser) {
  struct Options : ListingOptions {
    store::RunFilter filter;
    std::string columns;
    int64_t limit = -1;
    bool names = false;
  };
  auto options = std::make_shared<Options>();
  Command command = parser.command("ls", "List the runs, the newest first");
  command.option("--where", &options->filter.where,
                 "SQL expression: \"status = 'FINISHED' AND loss < 0.3 AND config.lr > 0.01\"");
  command
      .option("--sort", &options->filter.sort,
              "column, metric or config.KEY; -KEY for the largest first")
      .value_name("[-]KEY")
      .offers({.sources = {Source::kMetrics}});
  command.option("--limit", &options->limit, "at most this many runs").value_name("N").at_least(0);
  command.option("--tag", &options->filter.tags, "runs with this tag (all of several)")
      .value_name("TAG")
      .repeatable();
  command.flag("--all", &options->filter.archived, "also archived runs");
  command.flag("--names", &options->names, "names alone, one a line");
  command.old_flag("-q", &options->names, "--names");
  Option columns =
      command.option("--columns", &options->columns,
                     "columns instead of the metrics: config.KEY, metrics, columns of --where");
  columns.value_name("NAME,…").offers({.sources = {Source::kMetrics}});
  columns.excludes(add_listing_options(command, *options));
  add_wide_option(command, *options);
  command.footer(
      "Without --columns there is a column for each last metric, of which a terminal shows those\n"
      "that fit: the metric of --sort or of the star first, then losses.\n"
      "--where knows these columns: name, run_id, status, num_workers, started_at, ended_at,\n"
      "duration_s, waiting_s, running_s, script, note, tags, the last metrics (val/loss of a "
      "nested\n"
      "one), config.KEY, and tag, which is each of a run's tags: \"tag IN ('base', 'wide')\".\n"
      "Keys of --json, for each run: name, run_id, status, num_workers, started_at, ended_at,\n"
      "duration_s, waiting_s (for cores and GPUs, or in a launcher's queue), running_s (all\n"
      "attempts), script, metrics (of the last report), tags; with --all: archived.\n"
      "A star marks the best run that is listed: by the metric of --sort, else by the one by "
      "which\n"
      "the runs rank their checkpoints; `rtrain show best:METRIC` is the best of all");
  command.action([options] {
    if (options->limit >= 0) options->filter.limit = options->limit;
    std::optional<store::OpenStore> store = options->open_store();
    List runs = store ? store::RunListing(store->database()).rows(options->filter) : List{};
    if (store) find_lost_jobs(runs, *store);
    if (store && runs.empty() && !options->filter.tags.empty()) {
      std::cerr << "rtrain: " << no_tagged_run(*store, options->filter.tags) << "\n";
    }
    if (options->names) {
      for (const Value& run : runs) std::cout << run["name"].as_string() << "\n";
      return;
    }
    if (options->for_programs()) return options->print(runs);
    if (!store) return;
    print_runs(listed_runs(store->database(), runs, options->filter.sort, options->columns),
               options->width());
  });
}

}  // namespace rtrain::cli
