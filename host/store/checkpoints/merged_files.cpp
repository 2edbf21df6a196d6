#include "host/store/checkpoints/merged_files.h"

#include "host/base/text/text.h"

namespace rtrain::store {

MergedFiles::MergedFiles(std::span<const StagedRank> ranks) {
  std::map<int64_t, const StagedRank*> by_rank;
  for (const StagedRank& staged : ranks) by_rank[staged.rank] = &staged;
  if (by_rank.empty()) return;
  lowest_rank_ = by_rank.begin()->first;
  for (const auto& [rank, staged] : by_rank) add(*staged);
}

void MergedFiles::add(const StagedRank& staged) {
  if (metadata_.is_nil()) metadata_ = staged.metadata;
  for (const std::string& folder : staged.folders) {
    check_inner_path(folder);
    if (!is_below_file(folder)) folders_.insert(folder);
  }
  for (const CheckpointFile& file : staged.files) add(staged.rank, file);
}

void MergedFiles::add(int64_t rank, const CheckpointFile& file) {
  check_inner_path(file.path);
  const auto warn = [&](std::string_view what) {
    warnings_.push_back(cat("rank ", rank, "'s ", file.path, " ", what));
  };
  const auto found = files_.find(file.path);
  if (found != files_.end()) {
    if (found->second.file == file) return;
    return warn(
        "differs from a lower rank's, which is kept; give files of different ranks different "
        "names");
  }
  if (folders_.contains(file.path) || is_below_file(file.path)) {
    return warn("is left out: it is a folder on one rank and a file on another");
  }
  files_.emplace(file.path, Entry{file, rank});
}

// Whether the path, or a folder above it, is already the name of a file.
bool MergedFiles::is_below_file(const std::string& path) const {
  for (size_t end = path.find('/'); end != std::string::npos; end = path.find('/', end + 1)) {
    if (files_.contains(path.substr(0, end))) return true;
  }
  return files_.contains(path);
}

}  // namespace rtrain::store
