// rtrain ls: the runs of a store.
#include <memory>

#include "host/base/text.h"
#include "host/cli/command.h"
#include "host/cli/listing.h"

namespace rtrain {
namespace {

constexpr size_t kMetricsWidth = 60;

void print_runs(const List& runs) {
  std::vector<std::vector<std::string>> rows;
  for (const Value& run : runs) {
    std::vector<std::string> tags;
    for (const Value& tag : run["tags"].as_list()) tags.push_back(tag.as_string());
    rows.push_back({run["name"].as_string(), run["status"].as_string(),
                    cat(run["num_workers"].as_int()), human_time(run["started_at"]),
                    human_duration(run["duration_s"].as_float()),
                    human_metrics(run["metrics"], kMetricsWidth), join(tags, ",")});
  }
  print_table({{"NAME"},
               {"STATUS"},
               {"WORKERS", true},
               {"STARTED (UTC)"},
               {"DURATION", true},
               {"METRICS"},
               {"TAGS"}},
              rows);
}

}  // namespace

void add_ls(CLI::App& app, CommandResult&) {
  struct Options : ListingOptions {
    RunFilter filter;
    int64_t limit = -1;
  };
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("ls", "List the runs, the newest first");
  command->add_option(
      "--where", options->filter.where,
      "SQL expression over columns and metrics: \"status = 'FINISHED' AND loss < 0.3\"");
  command->add_option("--sort", options->filter.sort,
                      "column or metric; -KEY for the largest first");
  command->add_option("--limit", options->limit, "at most so many runs")
      ->check(CLI::NonNegativeNumber);
  add_listing_options(*command, *options);
  command->footer(
      "Keys of --json, for each run: name, run_id, status, num_workers, started_at, ended_at, "
      "duration_s, script,\n"
      "metrics (of the last report), tags");
  command->final_callback([options] {
    if (options->limit >= 0) options->filter.limit = options->limit;
    std::optional<RunReader> reader = options->reader();
    const List runs = reader ? reader->runs(options->filter) : List{};
    if (options->json) return print_json(runs);
    if (reader) print_runs(runs);
  });
}

}  // namespace rtrain
