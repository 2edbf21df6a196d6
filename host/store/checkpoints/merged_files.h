// host/store/checkpoints/merged_files.h: merges the files that ranks staged for one report into one
// checkpoint. Pure.
//
// Among files with the same path the lowest rank's is used. If a path is a folder on one rank and a
// file on another, the lower rank's is used.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "host/store/checkpoints/staged_copy.h"

namespace rtrain::store {

class MergedFiles {
 public:
  // `ranks`: in any order. Throws kCheckpoint for a path that leads out of the checkpoint.
  explicit MergedFiles(std::span<const StagedRank> ranks);

  struct Entry {
    CheckpointFile file;
    int64_t rank;  // the rank whose file it is
  };
  // By path.
  const std::map<std::string, Entry>& files() const { return files_; }
  // Parents come before their children.
  const std::set<std::string>& folders() const { return folders_; }
  int64_t lowest_rank() const { return lowest_rank_; }
  // The metadata of the lowest rank that has set some; nil if no rank has.
  const Value& metadata() const { return metadata_; }
  // One line for each file that is left out.
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

}  // namespace rtrain::store
