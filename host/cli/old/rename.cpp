// rtrain rename: the old name of `rtrain edit --name`.
#include <iostream>
#include <memory>

#include "host/base/text/text.h"
#include "host/cli/parser/command.h"
#include "host/cli/screen/listing.h"
#include "host/store/upkeep/run_editor.h"

namespace rtrain::cli {
namespace {

struct Options : ListingOptions {
  std::string name;
};

void rename_run(const Options& options) {
  const std::string storage = options.storage_path();
  const store::RunRef run = options.open_run().ref;
  store::RunEditor(storage).rename(run, options.name);
  const std::string path = cat(storage, "/", options.name);
  if (options.for_programs()) {
    return options.print(Map{
        {"name", options.name}, {"run_id", run.run_id}, {"old_name", run.name}, {"path", path}});
  }
  std::cerr << "run " << run.name << " is now " << options.name << ", its folder " << path << "\n";
}

}  // namespace

void add_rename(Parser& parser) {
  auto options = std::make_shared<Options>();
  Command command = parser.old_command("rename", "edit RUN --name NAME");
  add_run_argument(command, *options);
  command.argument("NAME", &options->name, "the new name").required();
  add_listing_options(command, *options);
  command.footer(
      "A live run, one that waits in a queue and one in an object store keep their names.\n"
      "Keys of --json: name, run_id, old_name, path");
  command.action([options] { rename_run(*options); });
}

}  // namespace rtrain::cli
