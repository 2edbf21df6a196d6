// rtrain cache ls|clean: the old name of `rtrain gc --bundles`.
#include <memory>

#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/cli/machine/gc.h"
#include "host/cli/parser/command.h"

namespace rtrain::cli {
namespace {

struct CacheOptions : ListingOptions {
  std::string action = "ls";
  bool dry_run = false;
};

void run_cache(const CacheOptions& options) {
  const std::vector<std::string> actions = {"ls", "clean"};
  if (options.action == "clean") return collect_bundles(options, options.dry_run);
  if (options.action != "ls") {
    throw Error(Code::kUsage, cat("cache: unknown action '", options.action, "'",
                                  suggestion(options.action, actions), " (ls, clean)"));
  }
  if (options.dry_run) throw Error(Code::kUsage, "--dry-run is for `rtrain cache clean`");
  list_bundles(options);
}

}  // namespace

void add_cache(Parser& parser) {
  auto options = std::make_shared<CacheOptions>();
  Command command = parser.old_command("cache", "gc --bundles");
  command.argument("ACTION", &options->action, "ls (what is there) or clean (remove it)")
      .offers({.sources = {}, .words = {"ls", "clean"}});
  command.flag("-n,--dry-run", &options->dry_run, "clean: say what would be removed");
  add_json_option(command, *options);
  command.footer(
      "A bundle (FILE.run) unpacks itself at its first start. clean removes what no running "
      "process\n"
      "came out of; a bundle that is started again unpacks again.\n"
      "Keys of --json, for each: path, bundle, size_bytes, last_used, state (unused, in use,\n"
      "incomplete), with clean also removed");
  command.action([options] { run_cache(*options); });
}

}  // namespace rtrain::cli
