// rtrain gc --bundles: lists or removes the files that bundles have unpacked on this machine.
#include <iostream>

#include "host/base/clock.h"
#include "host/base/error.h"
#include "host/base/text/counted.h"
#include "host/base/text/text.h"
#include "host/bundle/bundle_cache.h"
#include "host/bundle/bundle_folder.h"
#include "host/cli/machine/gc.h"

namespace rtrain::cli {
namespace {

std::string state_text(bundle::UnpackedBundle::State state) {
  switch (state) {
    case bundle::UnpackedBundle::State::kUnused:
      return "unused";
    case bundle::UnpackedBundle::State::kInUse:
      return "in use";
    case bundle::UnpackedBundle::State::kIncomplete:
      break;
  }
  return "incomplete";
}

std::string folder() {
  const std::string out = bundle::bundle_folder();
  if (out.empty()) {
    throw Error(Code::kEnvironment,
                "HOME is not set, so there is no ~/.cache: set XDG_CACHE_HOME to the folder in "
                "which bundles unpack");
  }
  return out;
}

Map to_map(const bundle::UnpackedBundle& bundle) {
  return Map{{"path", bundle.path},
             {"bundle", bundle.name.empty() ? Value() : Value(bundle.name)},
             {"size_bytes", bundle.size_bytes},
             {"last_used", time_text(bundle.last_used_ms)},
             {"state", state_text(bundle.state)}};
}

}  // namespace

void list_bundles(const ListingOptions& options) {
  List rows;
  for (const bundle::UnpackedBundle& bundle : bundle::unpacked_bundles(folder()))
    rows.push_back(to_map(bundle));
  if (options.for_programs()) return options.print(rows);
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

void collect_bundles(const ListingOptions& options, bool dry_run) {
  List rows;
  int64_t total = 0;
  size_t count = 0;
  for (const bundle::UnpackedBundle& bundle : bundle::unpacked_bundles(folder())) {
    const bool is_free = bundle.state != bundle::UnpackedBundle::State::kInUse;
    const bool goes = is_free && (dry_run || bundle::remove_bundle(bundle));
    Map row = to_map(bundle);
    row.set("removed", goes && !dry_run);
    rows.emplace_back(std::move(row));
    if (goes) total += bundle.size_bytes, ++count;
    if (options.for_programs()) continue;
    std::cout << bundle.path << "  " << human_size(bundle.size_bytes)
              << (goes ? "" : ": in use, left alone") << "\n";
  }
  if (options.for_programs()) return options.print(rows);
  std::cerr << (dry_run ? "would remove " : "removed ") << counted(count, "bundle") << ", "
            << human_size(total) << "\n";
}

}  // namespace rtrain::cli
