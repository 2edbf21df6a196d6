// host/store/checkpoints/far_store.h: a run's files on a node that does not see node 0's disk,
// where no object store has them either: a far node.
//
// It has a folder of its own for the run, which is_far_run() recognizes. Its ranks stage there, and
// then put the files into node 0's staging folder; a committed checkpoint is fetched from node 0
// when it is read. Both go through the ranks' channels: the worker provides a FarStore, and node
// 0's io thread calls the functions at the end of this file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "host/store/checkpoints/checkpoint_files.h"
#include "host/store/checkpoints/staged_copy.h"

namespace rtrain::store {

// A far node's folder for the run that has this folder on node 0; the same at each start.
std::string far_run_path(const std::string& run_path);
// Creates the folder, without what an earlier start left in it. Returns the problem, or "".
std::string join_far_run(const std::string& far_path);

// Calls block, and throw node 0's error. Any thread.
class FarStore {
 public:
  virtual ~FarStore() = default;
  // Puts the files that this rank has staged in `folder` for report `index`.
  virtual void put(int64_t index, const StagedRank& staged, const std::string& folder,
                   const BytesMoved& moved) = 0;
  // Returns the content of a file of a committed checkpoint.
  virtual std::string read(const std::string& name, const std::string& path) = 0;
  // Writes it to a new file.
  virtual void get_file(const std::string& name, const std::string& path,
                        const std::string& target) = 0;
};

// The process's own, set once. far_store() throws Error(kCheckpoint) in a process without one: only
// ranks have a channel to node 0.
void set_far_store(FarStore* store);
FarStore& far_store();

// Whether the folder is a copy of the committed checkpoint that node 0 has under that name.
bool is_far_copy(const std::string& folder, const std::string& name);
// Fetches a committed checkpoint from node 0 into a new folder, and verifies its files.
void get_far_checkpoint(const std::string& name, const std::string& folder);

// A part of a staged file; without a path it is the rank's folder itself.
struct StagedPart {
  std::string path;
  int64_t offset = 0;
  std::string bytes = {};
  bool is_last = false;
  std::optional<std::string> link = {};
};

// On node 0: writes a part of a file that a far rank has staged, and syncs the file with its last
// one. Throws kCheckpoint for a path that is not below the rank's folder.
void add_staged_part(const CheckpointFiles& files, const StageKey& key, int64_t rank,
                     const StagedPart& part);
// On node 0: returns up to kFarPartBytes of a committed checkpoint's file; empty at its end.
inline constexpr size_t kFarPartBytes = size_t{256} << 10;
std::string read_committed_part(const std::string& run_path, const std::string& name,
                                const std::string& path, int64_t offset);

}  // namespace rtrain::store
