// rtrain rm RUN…: removes runs with all their files.
#include <iostream>
#include <memory>

#include "host/base/error.h"
#include "host/base/text/counted.h"
#include "host/base/text/text.h"
#include "host/cli/parser/command.h"
#include "host/cli/screen/confirm.h"
#include "host/cli/screen/listing.h"
#include "host/store/files/file.h"
#include "host/store/upkeep/run_editor.h"

namespace rtrain::cli {
namespace {

struct Options : ListingOptions {
  std::vector<std::string> runs;
  bool yes = false;
  bool dry_run = false;
};

void print_removed(const Options& options, const std::vector<store::RunRef>& runs,
                   const std::vector<int64_t>& sizes) {
  List rows;
  for (size_t i = 0; i < runs.size(); ++i) {
    rows.push_back(Map{{"name", runs[i].name},
                       {"run_id", runs[i].run_id},
                       {"size_bytes", sizes[i]},
                       {"removed", !options.dry_run}});
  }
  if (options.for_programs()) return options.print(rows);
  for (size_t i = 0; i < runs.size(); ++i) {
    std::cerr << (options.dry_run ? "would remove " : "removed ") << runs[i].name << " ("
              << human_size(sizes[i]) << ")\n";
  }
}

void remove_runs(const Options& options) {
  const std::vector<store::RunRef> runs = options.find_runs(options.runs);
  store::RunEditor editor(options.storage_path());
  std::vector<int64_t> sizes;
  int64_t total = 0;
  // Checks all runs before it removes the first, so that either all are removed or none.
  for (const store::RunRef& run : runs) {
    editor.check_removable(run);
    sizes.push_back(store::folder_size(run.path));
    total += sizes.back();
  }
  if (!options.dry_run) {
    std::vector<std::string> names;
    for (const store::RunRef& run : runs) names.push_back(run.name);
    const std::string what = runs.size() == 1
                                 ? cat("the run ", names.front())
                                 : cat(counted(runs.size(), "run"), " (", join(names, ", "), ")");
    if (!confirm(cat("remove ", what, " with checkpoints and logs, ", human_size(total)),
                 options.yes)) {
      std::cerr << "nothing was removed\n";
      return;
    }
    for (const store::RunRef& run : runs) editor.remove(run);
  }
  print_removed(options, runs, sizes);
}

}  // namespace

void add_rm(Parser& parser) {
  auto options = std::make_shared<Options>();
  Command command = parser.command("rm", "Remove runs with their checkpoints, logs and metrics");
  add_runs_argument(command, options->runs).required();
  command.flag("-y,--yes", &options->yes, "do not ask; needed without a terminal");
  command.flag("--dry-run", &options->dry_run, "say what would be removed");
  add_listing_options(command, *options);
  command.footer(
      "A live run is refused. All runs of a tag: rtrain rm $(rtrain ls --names --tag TAG).\n"
      "Keys of --json, for each run: name, run_id, size_bytes, removed");
  command.action([options] { remove_runs(*options); });
}

}  // namespace rtrain::cli
