// rtrain cache ls|clean: what bundles have unpacked on this machine.
#include <iostream>
#include <memory>

#include "host/base/clock.h"
#include "host/base/error.h"
#include "host/base/text/counted.h"
#include "host/base/text/text.h"
#include "host/bundle/bundle_cache.h"
#include "host/bundle/bundle_folder.h"
#include "host/cli/parser/command.h"
#include "host/cli/screen/listing.h"

namespace rtrain {
namespace {

struct CacheOptions {
  std::string action = "ls";
  bool dry_run = false;
  bool json = false;
};

std::string state_text(UnpackedBundle::State state) {
  switch (state) {
    case UnpackedBundle::State::kUnused:
      return "unused";
    case UnpackedBundle::State::kInUse:
      return "in use";
    case UnpackedBundle::State::kIncomplete:
      break;
  }
  return "incomplete";
}

std::string folder() {
  const std::string out = bundle_folder();
  if (out.empty()) {
    throw Error(Code::kEnvironment,
                "HOME is not set, so there is no ~/.cache: set XDG_CACHE_HOME to the folder in "
                "which bundles unpack");
  }
  return out;
}

Map to_map(const UnpackedBundle& bundle) {
  return Map{{"path", bundle.path},
             {"bundle", bundle.name.empty() ? Value() : Value(bundle.name)},
             {"size_bytes", bundle.size_bytes},
             {"last_used", time_text(bundle.last_used_ms)},
             {"state", state_text(bundle.state)}};
}

void list_cache(const CacheOptions& options) {
  List rows;
  for (const UnpackedBundle& bundle : unpacked_bundles(folder())) rows.push_back(to_map(bundle));
  if (options.json) return print_json(rows);
  if (rows.empty()) {
    std::cerr << "nothing is unpacked in " << folder() << "\n";
    return;
  }
  std::vector<std::vector<std::string>> table;
  for (const Value& row : rows) {
    table.push_back({row["bundle"].string_or("?"), human_size(row["size_bytes"].as_int()),
                     human_time(row["last_used"]), row["state"].as_string(),
                     row["path"].as_string()});
  }
  print_table(
      {{.header = "BUNDLE", .key = true}, {"SIZE", true}, {"LAST USED (UTC)"}, {"STATE"}, {"PATH"}},
      table);
}

void clean_cache(const CacheOptions& options) {
  List rows;
  int64_t total = 0;
  size_t count = 0;
  for (const UnpackedBundle& bundle : unpacked_bundles(folder())) {
    const bool is_free = bundle.state != UnpackedBundle::State::kInUse;
    const bool goes = is_free && (options.dry_run || remove_bundle(bundle));
    Map row = to_map(bundle);
    row.set("removed", goes && !options.dry_run);
    rows.emplace_back(std::move(row));
    if (goes) total += bundle.size_bytes, ++count;
    if (options.json) continue;
    std::cout << bundle.path << "  " << human_size(bundle.size_bytes)
              << (goes ? "" : ": in use, left alone") << "\n";
  }
  if (options.json) return print_json(rows);
  std::cerr << (options.dry_run ? "would remove " : "removed ") << counted(count, "bundle") << ", "
            << human_size(total) << "\n";
}

void run_cache(const CacheOptions& options) {
  const std::vector<std::string> actions = {"ls", "clean"};
  if (options.action == "clean") return clean_cache(options);
  if (options.action != "ls") {
    throw Error(Code::kUsage, cat("cache: unknown action '", options.action, "'",
                                  suggestion(options.action, actions), " (ls, clean)"));
  }
  if (options.dry_run) throw Error(Code::kUsage, "--dry-run is for `rtrain cache clean`");
  list_cache(options);
}

}  // namespace

void add_cache(Parser& parser) {
  auto options = std::make_shared<CacheOptions>();
  Command command =
      parser.command("cache", "List what bundles have unpacked here, and remove what is unused");
  command.argument("ACTION", &options->action, "ls (what is there) or clean (remove it)")
      .offers({.sources = {}, .words = {"ls", "clean"}});
  command.flag("-n,--dry-run", &options->dry_run, "clean: say what would be removed");
  command.flag("--json", &options->json, "one JSON document");
  command.footer(
      "A bundle (FILE.run) unpacks itself at its first start. clean removes what no running "
      "process\n"
      "came out of; a bundle that is started again unpacks again.\n"
      "Keys of --json, for each: path, bundle, size_bytes, last_used, state (unused, in use,\n"
      "incomplete), with clean also removed");
  command.action([options] { run_cache(*options); });
}

}  // namespace rtrain
