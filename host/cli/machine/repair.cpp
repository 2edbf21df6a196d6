// rtrain repair: rebuilds a damaged store from what can be read of it and from the checkpoints.
#include <iostream>
#include <memory>

#include "host/cli/parser/command.h"
#include "host/cli/screen/listing.h"
#include "host/store/upkeep/repair.h"

namespace rtrain {

void add_repair(Parser& parser) {
  auto options = std::make_shared<ListingOptions>();
  Command command =
      parser.command("repair", "Rebuild a damaged store from its rows and its checkpoints");
  add_listing_options(command, *options);
  command.footer("With --json a list of the lines");
  command.action([options] {
    const std::vector<std::string> lines = repair_store(options->storage_path());
    if (options->for_programs()) return options->print(List(lines.begin(), lines.end()));
    for (const std::string& line : lines) std::cout << line << '\n';
  });
}

}  // namespace rtrain
