// rtrain tag: an old name of `rtrain edit`.
#include <iostream>
#include <memory>

#include "host/base/text/text.h"
#include "host/cli/parser/command.h"
#include "host/cli/screen/listing.h"
#include "host/store/upkeep/run_editor.h"

namespace rtrain::cli {
namespace {

struct Options : ListingOptions {
  std::vector<std::string> added;
  std::vector<std::string> removed;
};

void tag_run(const Options& options) {
  const store::RunRef run = options.open_run().ref;
  store::RunEditor editor(options.storage_path());
  const bool asks = options.added.empty() && options.removed.empty();
  const std::vector<std::string> tags =
      asks ? editor.tags(run) : editor.change_tags(run, options.added, options.removed);
  if (options.for_programs()) {
    return options.print(
        Map{{"name", run.name}, {"run_id", run.run_id}, {"tags", List(tags.begin(), tags.end())}});
  }
  if (asks) {
    for (const std::string& tag : tags) std::cout << tag << "\n";
    return;
  }
  std::cerr << "run " << run.name << ": " << (tags.empty() ? "no tags" : join(tags, ", ")) << "\n";
}

}  // namespace

void add_tag(Parser& parser) {
  auto options = std::make_shared<Options>();
  Command command = parser.old_command("tag", "edit RUN --tag TAG --untag TAG");
  add_run_argument(command, *options);
  command.argument("TAG", &options->added, "tags to add; without any the run's tags are printed")
      .check(&new_tag_error);
  command.option("-d,--delete", &options->removed, "remove this tag")
      .value_name("TAG")
      .repeatable();
  add_listing_options(command, *options);
  command.footer(
      "`rtrain ls --tag TAG` lists the runs that have a tag.\n"
      "Keys of --json: name, run_id, tags");
  command.action([options] { tag_run(*options); });
}

}  // namespace rtrain::cli
