// rtrain checkpoint verify: compares every file of the checkpoints with their manifests.
#include <iostream>

#include "host/base/error.h"
#include "host/base/text/counted.h"
#include "host/base/text/text.h"
#include "host/cli/checkpoints/checkpoints.h"
#include "host/store/checkpoints/checkpoint_files.h"
#include "host/store/checkpoints/staged_copy.h"
#include "host/store/read/checkpoint_rows.h"

namespace rtrain::cli {
namespace {

// Returns {name, path, files, size_bytes, ok, problems}.
Map verify(const Value& checkpoint) {
  const std::string& path = checkpoint["path"].as_string();
  List problems;
  size_t files = 0;
  int64_t size_bytes = 0;
  try {
    const store::DirectoryLease lease(path);
    const store::Manifest manifest = store::Manifest::read(path);
    files = manifest.files.size();
    size_bytes = manifest.size_bytes();
    for (const CheckpointFile& file : manifest.files) {
      const std::string damage = store::file_damage(path, file, true);
      if (!damage.empty()) problems.push_back(Map{{"file", file.path}, {"problem", damage}});
    }
  } catch (const Error& e) {
    // If the disk cannot read a file, only this checkpoint has a problem, and the others are still
    // verified.
    if (e.code() != Code::kCheckpoint && e.code() != Code::kEnvironment) throw;
    problems.push_back(Map{{"file", store::kManifestName}, {"problem", e.message()}});
  }
  const bool is_whole = problems.empty();
  return Map{{"name", checkpoint["name"]}, {"path", path},   {"files", static_cast<int64_t>(files)},
             {"size_bytes", size_bytes},   {"ok", is_whole}, {"problems", std::move(problems)}};
}

void print_verified(const List& rows) {
  for (const Value& row : rows) {
    std::cout << row["name"].as_string() << "  "
              << counted(static_cast<size_t>(row["files"].as_int()), "file") << ", "
              << human_size(row["size_bytes"].as_int()) << "  "
              << (row["ok"].as_bool() ? "ok" : "DAMAGED") << "\n";
    for (const Value& problem : row["problems"].as_list()) {
      std::cout << "  " << problem["file"].as_string() << ": " << problem["problem"].as_string()
                << "\n";
    }
  }
}

}  // namespace

void verify_checkpoints(const CheckpointsOptions& options) {
  store::OpenRun run = options.open_run();
  List checkpoints;
  if (options.name.empty()) {
    checkpoints = store::checkpoint_rows(run.store, run.ref, false);
  } else {
    checkpoints.push_back(find_checkpoint(run, options.name));
  }
  List rows;
  size_t damaged = 0;
  for (const Value& checkpoint : checkpoints) {
    rows.push_back(verify(checkpoint));
    if (!rows.back()["ok"].as_bool()) ++damaged;
  }
  if (options.for_programs()) {
    options.print(rows);
  } else {
    print_verified(rows);
  }
  if (damaged == 0) return;
  std::cout.flush();
  throw Error(Code::kCheckpoint,
              cat(damaged, " of ", counted(rows.size(), "checkpoint"), " of the run '",
                  run.ref.name, "' ", damaged == 1 ? "differs" : "differ", " from what was saved"));
}

}  // namespace rtrain::cli
