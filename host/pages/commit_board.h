// host/pages/commit_board.h: what the ranks of a node have committed in train.elastic, in shared
// memory: how far each one is, and the small part of its state.
//
// It outlives the processes of the ranks: the one that takes a dead rank's place finds there what
// that rank had for itself. Made by the controller, on other nodes by the agent, as a memory file;
// a worker maps the descriptor that it inherits. Of ranks on other nodes it says, in one word, how
// far all of them are.
//
// Steps count from 1. A rank is **ready** for a step when it has written its part of the state and
// will change nothing that all ranks have in common before all of them are. Each rank has two
// places for either part, by the parity of the step: while one is being written the other one holds
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
  // was at the commit behind that.
  enum class Part { kPrepared, kCommitted };

  // Who has to be ready.
  enum class Scope { kHost, kAllHosts };

  // For the process that starts the workers: of the ranks from `first_rank` to below `end_rank`.
  // Throws Error(kEnvironment).
  explicit CommitBoard(int end_rank, int first_rank = 0);
  // For a worker: maps the board behind the descriptor, which stays the caller's. Throws
  // Error(kInternal) when it is none of this build.
  struct Inherited {
    int fd;
  };
  explicit CommitBoard(Inherited inherited);
  ~CommitBoard();
  CommitBoard(const CommitBoard&) = delete;
  CommitBoard& operator=(const CommitBoard&) = delete;

  int fd() const { return fd_; }
  // Ranks are below that.
  int size() const { return end_rank_; }

  // Of this rank, by itself. Throws Error(kEnvironment) without memory.
  void write(int rank, Part part, uint64_t step, std::string_view bytes);
  // Of any rank; nothing where that step is not there, or not whole.
  std::optional<std::string> read(int rank, Part part, uint64_t step) const;

  // The rank is ready for that step, or for a lower one again: it goes back.
  void set_ready(int rank, uint64_t step);
  // The rank does not come to any further step until it is present again: it has ended, or goes
  // back to its last one.
  void set_absent(int rank, bool is_absent);
  // Nobody waits for the rank any more: there is no process of it, and will be none.
  void leave_out(int rank);

  // Whether all ranks of this node are.
  bool is_node_ready(uint64_t step) const { return !first_late(step); }

  // All ranks of all other nodes are ready for that step. For who hears of them: the process that
  // starts the workers.
  void set_others_ready(uint64_t step);
  // Nothing of that kind comes any more, since one of them is lost; or again, from the first step.
  void set_others_lost(bool are_lost);

  // Until all ranks are ready for the step. Throws Error(kPeerLost) naming one that is not and is
  // absent; Error(kTimeout) naming one at the deadline.
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
