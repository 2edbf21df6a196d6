// host/store/checkpoints/merged_files.h: what the ranks staged for one report, as the files of one
// checkpoint. Pure.
//
// Of several files with one name the lowest rank's counts. Where a name is a folder on one rank and
// a file on another, what came first counts.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "host/store/checkpoints/staged_copy.h"

namespace rtrain {

class MergedFiles {
 public:
  // In any order of the ranks.
  explicit MergedFiles(std::span<const StagedRank> ranks);

  struct Entry {
    CheckpointFile file;
    int64_t rank;  // whose it is
  };
  // By path.
  const std::map<std::string, Entry>& files() const { return files_; }
  // Each behind those above it.
  const std::set<std::string>& folders() const { return folders_; }
  int64_t lowest_rank() const { return lowest_rank_; }
  // The first that a rank has set; nil where none has.
  const Value& metadata() const { return metadata_; }
  // What is left out, a line for each file.
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  void add(const StagedRank& staged);
  void add(int64_t rank, const CheckpointFile& file);
  bool is_below_file(const std::string& path) const;

  std::map<std::string, Entry> files_;
  std::set<std::string> folders_;
  int64_t lowest_rank_ = 0;
  Value metadata_;
  std::vector<std::string> warnings_;
};

}  // namespace rtrain
