#include "host/worker/report/checkpoint_source.h"

#include <filesystem>

#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/store/checkpoints/manifest.h"
#include "host/store/checkpoints/object_storage.h"
#include "host/store/files/file.h"

namespace rtrain::worker {
namespace {

namespace fs = std::filesystem;

std::string real_path(const std::string& path) {
  std::error_code failure;
  const fs::path found = fs::weakly_canonical(path, failure);
  return failure ? store::absolute_path(path) : found.string();
}

// The part of `path` below `parent`; empty when it is not below.
std::string path_below(const std::string& path, const std::string& parent) {
  if (!path.starts_with(parent + "/")) return "";
  return path.substr(parent.size() + 1);
}

// Whether the folder is one of the run's committed checkpoints.
bool is_committed(const std::string& folder, const std::string& run_path) {
  const std::string below = path_below(real_path(folder), real_path(run_path) + "/checkpoints");
  if (below.empty() || below.find('/') != std::string::npos) return false;
  return store::path_exists(cat(folder, "/", store::kManifestName));
}

}  // namespace

void check_is_folder(const std::string& folder) {
  const std::string kind = store::path_kind(folder);
  if (kind == "folder") return;
  if (kind.empty()) {
    throw Error(Code::kCheckpoint,
                cat("no checkpoint folder ", folder, ": No such file or directory"));
  }
  throw Error(Code::kCheckpoint, cat("the checkpoint ", folder, " is not a folder"));
}

std::string folder_inside_run(const std::string& folder, const std::string& run_path,
                              const std::string& who) {
  const std::string path = real_path(folder);
  const std::string run = real_path(run_path);
  const std::string below = path_below(path, run);
  const auto refuse = [&](const std::string& reason) {
    return Error(Code::kArgument,
                 cat(who, " ", reason, "\n  checkpoint: ", path, "\n  run:        ", run,
                     "\nWrite it to a folder of its own below the run's, which is "
                     "train.get_context():get_storage().experiment_path"));
  };
  if (below.empty()) throw refuse("is outside the run's folder");
  if (below == "checkpoints" || below == "staging" || below.starts_with("logs")) {
    throw refuse("is one of rtrain's own folders");
  }
  if (is_committed(path, run)) throw refuse("is a committed checkpoint already");
  check_is_folder(path);
  if (store::is_far_run(run)) {
    throw Error(Code::kArgument,
                cat(who, " lies in ", run,
                    " cannot be taken from there: this node shares no disk with the run's first "
                    "one. Use SYNC or ASYNC"));
  }
  return path;
}

void check_deletable(const std::string& folder, const std::string& run_path) {
  const std::string path = real_path(folder);
  const std::string run = real_path(run_path);
  const bool holds_run = path == run || !path_below(run, path).empty();
  if (!holds_run && !is_committed(path, run)) return;
  throw Error(Code::kArgument,
              cat("report: deleting the checkpoint's folder after the upload would take files of "
                  "the run with it\n  checkpoint: ",
                  path, "\n  run:        ", run,
                  "\nSet delete_local_checkpoint_after_upload = false, or write the checkpoint to "
                  "a folder of its own"));
}

}  // namespace rtrain::worker
