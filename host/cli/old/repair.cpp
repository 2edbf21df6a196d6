// rtrain repair: the old name of `rtrain gc --rebuild`.
#include <memory>

#include "host/cli/machine/gc.h"
#include "host/cli/parser/command.h"

namespace rtrain::cli {

void add_repair(Parser& parser) {
  auto options = std::make_shared<ListingOptions>();
  Command command = parser.old_command("repair", "gc --rebuild");
  add_listing_options(command, *options);
  command.footer("With --json a list of the lines");
  command.action([options] { rebuild_store(*options); });
}

}  // namespace rtrain::cli
