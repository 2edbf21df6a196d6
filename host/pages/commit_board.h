// host/pages/commit_board.h: the commits of the ranks of a node in train.elastic, in shared memory:
// the step that each rank is ready for, and the small part of its state.
//
// The board outlives the processes of the ranks: the process that takes a dead rank's place reads
// the small part of that rank's state from it. The controller, or the agent on another node,
// creates it as a memory file; a worker maps the descriptor that it inherits. Of the ranks on other
// nodes it has only the step for which all of them are ready.
//
// Steps count from 1. A rank is **ready** for a step when it has written its part of the state, and
// will not change the state that all ranks have in common before all ranks are ready. Each rank has
// two places for each part, for even and odd steps: while one is being written the other one holds
// the step before.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "host/base/error.h"

namespace rtrain::pages {

class CommitBoard {
 public:
  // The small part of a rank's state: as it was when the rank became ready for a step, and as it
  // was when all were ready and the rank committed the step. kCopy: as prepared, what the first
  // node of the job keeps of it, in case that this node is lost.
  enum class Part { kPrepared, kCommitted, kCopy };

  // The ranks that have to be ready: those of this node, or those of all nodes.
  enum class Scope { kHost, kAllHosts };

  // Creates the board of the ranks from `first_rank` to below `end_rank`. For the process that
  // starts the workers. Throws Error(kEnvironment) without memory.
  explicit CommitBoard(int end_rank, int first_rank = 0);
  // For a worker: maps the board of this descriptor, which the caller still owns. Throws
  // Error(kInternal) when it is not a board of this build.
  struct Inherited {
    int fd;
  };
  explicit CommitBoard(Inherited inherited);
  ~CommitBoard();
  CommitBoard(const CommitBoard&) = delete;
  CommitBoard& operator=(const CommitBoard&) = delete;

  int fd() const { return fd_; }
  // The ranks of the board: from this number to below the other one.
  int first_rank() const { return first_rank_; }
  int size() const { return end_rank_; }

  // Writes a part of this rank's state. Called by the rank itself. Throws Error(kEnvironment)
  // without memory.
  void write(int rank, Part part, uint64_t step, std::string_view bytes);
  // Returns a part of any rank's state; nullopt where the board does not have all of that step.
  std::optional<std::string> read(int rank, Part part, uint64_t step) const;

  // The rank is ready for this step. A lower step than before: the rank has gone back.
  void set_ready(int rank, uint64_t step);
  // An absent rank has ended, or goes back to its last step: it becomes ready for no further step
  // until it is present again.
  void set_absent(int rank, bool is_absent);
  // The other ranks do not wait for this rank any more: it will not get another process.
  void leave_out(int rank);

  // Whether all ranks of this node are ready for the step.
  bool is_node_ready(uint64_t step) const { return !first_late(step); }

  // All ranks of all other nodes are ready for this step. Called by the process that starts the
  // workers, which gets the messages of other nodes.
  void set_others_ready(uint64_t step);
  // A rank of another node is lost. False: the ranks of other nodes begin at the first step again.
  void set_others_lost(bool are_lost);

  // Waits until all ranks are ready for the step. Throws Error(kPeerLost), which names a rank that
  // is absent and not ready, and Error(kTimeout) at the deadline, which names a rank that is late.
  void wait(uint64_t step, std::chrono::steady_clock::time_point deadline,
            Scope scope = Scope::kHost);

 private:
  struct Header;
  struct Place;
  struct Rank;

  void map();
  Header& header() const;
  Rank& rank(int number) const;
  Place& place(int number, Part part, uint64_t step) const;
  int64_t offset(int number, Part part, uint64_t step) const;
  bool is_ready(int number, uint64_t step) const;
  std::optional<int> first_late(uint64_t step) const;
  std::optional<int> first_lost(uint64_t step) const;
  bool are_others_late(uint64_t step, Scope scope) const;
  bool are_others_lost(uint64_t step, Scope scope) const;
  void check_not_lost(uint64_t step, Scope scope) const;
  void wake();

  int fd_ = -1;
  bool owns_fd_ = false;
  int first_rank_ = 0;
  int end_rank_ = 0;
  bool may_spin_ = false;
  std::byte* memory_ = nullptr;
  size_t size_bytes_ = 0;
};

}  // namespace rtrain::pages
