// rtrain archive: the old name of `rtrain edit --archive`.
#include <iostream>
#include <memory>

#include "host/cli/parser/command.h"
#include "host/cli/screen/listing.h"
#include "host/store/upkeep/run_editor.h"

namespace rtrain::cli {
namespace {

struct Options : ListingOptions {
  std::vector<std::string> runs;
  bool undo = false;
};

void archive_runs(const Options& options) {
  const std::vector<store::RunRef> runs = options.find_runs(options.runs);
  store::RunEditor editor(options.storage_path());
  List rows;
  for (const store::RunRef& run : runs) {
    editor.set_archived(run, !options.undo);
    rows.push_back(Map{{"name", run.name}, {"run_id", run.run_id}, {"archived", !options.undo}});
  }
  if (options.for_programs()) return options.print(rows);
  for (const store::RunRef& run : runs) {
    std::cerr << "run " << run.name << (options.undo ? " is listed again\n" : " is archived\n");
  }
}

}  // namespace

void add_archive(Parser& parser) {
  auto options = std::make_shared<Options>();
  Command command = parser.old_command("archive", "edit RUN --archive");
  add_runs_argument(command, options->runs).required();
  command.flag("--undo", &options->undo, "list them again");
  add_listing_options(command, *options);
  command.footer(
      "`rtrain ls --all` lists archived runs too. They are never meant by 'last' and best:.\n"
      "Keys of --json, for each run: name, run_id, archived");
  command.action([options] { archive_runs(*options); });
}

}  // namespace rtrain::cli
