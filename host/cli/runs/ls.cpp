// rtrain ls: the runs of a store.
#include <algorithm>
#include <iostream>
#include <memory>

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

std::string tags_text(const Value& run) {
  std::vector<std::string> tags;
  for (const Value& tag : run["tags"].as_list()) tags.push_back(brief_name(tag.as_string()));
  return join(tags, ",");
}

std::string status_text(const Value& run) {
  const bool archived = run["archived"] == Value(true);
  return cat(run["status"].as_string(), archived ? " archived" : "");
}

void print_runs(const List& runs, const std::optional<store::BestRun>& best, size_t width) {
  const bool any_waited = std::any_of(runs.begin(), runs.end(), [](const Value& run) {
    return run["waiting_s"].as_float() >= kWaitS;
  });
  std::vector<Column> columns{
      {.header = "NAME", .key = true}, {"STATUS"}, {"WORKERS", true}, {"STARTED (UTC)"}};
  if (any_waited) columns.push_back({"WAITED", true});
  for (Column column :
       {Column{"RAN", true}, Column{"TAGS"}, Column{.header = "METRICS", .fills = true}}) {
    columns.push_back(std::move(column));
  }
  std::vector<std::vector<std::string>> rows;
  for (const Value& run : runs) {
    const bool is_queued = run["status"] == Value("QUEUED");
    const int64_t num_workers = run["num_workers"].as_int();
    const bool is_best = best && rows.size() == best->position;
    std::vector<std::string> row{
        cat(run["name"].as_string(), is_best ? " *" : ""), status_text(run),
        is_queued && num_workers == 0 ? "" : cat(num_workers), human_time(run["started_at"])};
    if (any_waited) row.push_back(human_duration(run["waiting_s"].as_float()));
    row.push_back(human_duration(run["running_s"].as_float()));
    row.push_back(tags_text(run));
    row.push_back(human_metrics(run["metrics"]));
    rows.push_back(std::move(row));
  }
  print_table(columns, rows, width);
  if (!best || width == kAnyWidth) return;  // a program knows its own query
  std::cerr << "rtrain: * has the " << (best->is_largest ? "largest " : "smallest ") << best->metric
            << "\n";
}

}  // namespace

void add_ls(Parser& parser) {
  struct Options : ListingOptions {
    store::RunFilter filter;
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
  add_listing_options(command, *options);
  add_wide_option(command, *options);
  command.footer(
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
    print_runs(runs, store::best_run(store->database(), options->filter.sort, runs),
               options->width());
  });
}

}  // namespace rtrain::cli
