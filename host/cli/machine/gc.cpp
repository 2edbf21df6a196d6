// rtrain gc: removes files that no row of the store refers to, and files that bundles have
// unpacked; rebuilds a damaged store.
#include "host/cli/machine/gc.h"

#include <iostream>
#include <memory>
#include <optional>

#include "host/base/error.h"
#include "host/base/text/counted.h"
#include "host/base/text/text.h"
#include "host/cli/parser/command.h"
#include "host/store/db/schema.h"
#include "host/store/files/file.h"
#include "host/store/upkeep/garbage.h"
#include "host/store/upkeep/repair.h"

namespace rtrain::cli {
namespace {

struct Options : ListingOptions {
  bool dry_run = false;
  bool bundles = false;
  bool rebuild = false;
};

std::string reason_text(store::Garbage::Kind kind) {
  switch (kind) {
    case store::Garbage::Kind::kRemoved:
      return "of a run that was removed";
    case store::Garbage::Kind::kLink:
      return "of a rename that was cut off";
    case store::Garbage::Kind::kFolder:
      return "of a run that the store does not have";
    case store::Garbage::Kind::kStaged:
      return "staged, and in no checkpoint";
    case store::Garbage::Kind::kCheckpoint:
      return "a checkpoint that its run does not have";
  }
  return "";
}

// Returns nullopt if there is no store. A dry run does not need a writable folder.
std::optional<store::Database> open_store(const std::string& path, bool dry_run) {
  if (!store::path_exists(path)) return std::nullopt;
  if (!dry_run) return store::Database::open(path);
  std::optional<store::Database> database = store::Database::open_read_only(path);
  if (database) store::check_is_store(*database);
  return database;
}

void collect(const Options& options) {
  const std::string storage = options.storage_path();
  const std::string path = storage + "/rtrain.db";
  List rows;
  if (std::optional<store::Database> database = open_store(path, options.dry_run)) {
    for (const store::Garbage& each : store::find_garbage(*database, storage)) {
      const bool removed = !options.dry_run && store::remove_garbage(*database, each);
      rows.push_back(Map{{"path", each.path},
                         {"reason", reason_text(each.kind)},
                         {"size_bytes", each.size_bytes},
                         {"removed", removed}});
    }
  }
  if (options.for_programs()) return options.print(rows);
  int64_t total = 0;
  for (const Value& row : rows) {
    const bool counts = options.dry_run || row["removed"].as_bool();
    if (counts) total += row["size_bytes"].as_int();
    std::cout << row["path"].as_string() << "  " << human_size(row["size_bytes"].as_int()) << ", "
              << row["reason"].as_string() << (counts ? "" : ": in use, left alone") << "\n";
  }
  std::cerr << (options.dry_run ? "would remove " : "removed ") << counted(rows.size(), "item")
            << ", " << human_size(total) << "\n";
}

void run_gc(const Options& options) {
  if (options.rebuild) return rebuild_store(options);
  if (options.bundles) return collect_bundles(options, options.dry_run);
  collect(options);
}

}  // namespace

void rebuild_store(const ListingOptions& options) {
  const std::vector<std::string> lines = store::repair_store(options.storage_path());
  if (options.for_programs()) return options.print(List(lines.begin(), lines.end()));
  for (const std::string& line : lines) std::cout << line << '\n';
}

void add_gc(Parser& parser) {
  auto options = std::make_shared<Options>();
  Command command = parser.command(
      "gc", "Remove files that no run refers to, or unpacked bundles; rebuild a damaged store");
  Option dry_run = command.flag("--dry-run", &options->dry_run, "list them, remove nothing");
  Option bundles = command.flag("--bundles", &options->bundles,
                                "what bundles have unpacked on this machine and no process uses");
  Option rebuild = command.flag(
      "--rebuild", &options->rebuild,
      "write a damaged store again, from its rows and its checkpoints; nothing is removed");
  rebuild.excludes(bundles).excludes(dry_run);
  command.old_flag("-n", &options->dry_run, "--dry-run").excludes(rebuild);
  add_listing_options(command, *options);
  command.footer(
      "Looks for what killed processes have left: files of removed runs, staged files, "
      "checkpoints\n"
      "of a run that it does not list, folders of runs that are not in the store and have no\n"
      "checkpoint. Leaves alone what a live run owns, and all that rtrain has not made.\n"
      "A bundle (FILE.run) unpacks itself at its first start, and again once that was removed.\n"
      "Keys of --json, for each item: path, reason, size_bytes, removed; with --bundles path,\n"
      "bundle, size_bytes, last_used, state (unused, in use, incomplete), removed; with --rebuild\n"
      "a list of lines");
  command.action([options] { run_gc(*options); });
}

}  // namespace rtrain::cli
