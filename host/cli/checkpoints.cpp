// rtrain checkpoints RUN: the checkpoints of a run.
#include <cctype>
#include <memory>

#include "host/base/text.h"
#include "host/cli/command.h"
#include "host/cli/listing.h"

namespace rtrain {
namespace {

// "best latest", "missing", "validation failed".
std::string marks(const Value& checkpoint) {
  std::vector<std::string> words;
  if (checkpoint["best"].as_bool()) words.emplace_back("best");
  if (checkpoint["latest"].as_bool()) words.emplace_back("latest");
  if (!checkpoint["kept"].bool_or(true)) words.push_back(checkpoint["state"].as_string());
  std::string status = checkpoint["status"].as_string();
  for (char& c : status) c = c == '_' ? ' ' : static_cast<char>(std::tolower(c));
  if (status != "committed") words.push_back(status);
  return join(words, " ");
}

void print_checkpoints(const List& checkpoints, size_t width) {
  std::vector<std::vector<std::string>> rows;
  for (const Value& checkpoint : checkpoints) {
    rows.push_back({checkpoint["name"].as_string(), cat(checkpoint["index"].as_int()),
                    cat(checkpoint["attempt"].as_int()), human_time(checkpoint["created_at"]),
                    human_size(checkpoint["size_bytes"].as_int()), marks(checkpoint),
                    human_metrics(checkpoint["metrics"])});
  }
  print_table({{.header = "NAME", .key = true},
               {"INDEX", true},
               {"ATTEMPT", true},
               {"CREATED (UTC)"},
               {"SIZE", true},
               {""},
               {.header = "METRICS", .fills = true}},
              rows, width);
}

}  // namespace

void add_checkpoints(Parser& parser) {
  struct Options : ListingOptions {
    bool all = false;
  };
  auto options = std::make_shared<Options>();
  Command command = parser.command("checkpoints", "List the checkpoints of a run");
  add_run_argument(command, *options);
  command.flag("--all", &options->all, "also those that were dropped");
  add_listing_options(command, *options);
  add_wide_option(command, *options);
  command.footer(
      "Keys of --json, for each checkpoint: name, path, uri (in an object store), index, attempt,\n"
      "metrics, size_bytes, created_at, status (of its validation: COMMITTED,\n"
      "PENDING_VALIDATION, VALIDATED, VALIDATION_FAILED, VALIDATION_TIMEOUT), latest, best;\n"
      "problem where the validation failed; with --all: kept, state");
  command.action([options] {
    OpenRun run = options->open_run();
    const List checkpoints = run.reader.checkpoints(run.ref, options->all);
    if (options->for_programs()) return options->print(checkpoints);
    print_checkpoints(checkpoints, options->width());
  });
}

}  // namespace rtrain
