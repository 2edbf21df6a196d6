// host/worker/commit_client.h: train.elastic as a worker makes it: this rank's part of each
// committed step, and the way back to the last one.
//
// Main thread. The ranks of a node synchronize through a board in shared memory
// (host/pages/commit_board.h). Where there are several nodes the last rank of each tells the
// controller, and that tells the nodes when all have come as far.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "host/pages/commit_board.h"

namespace rtrain::worker {

class WorkerProcess;

class CommitClient {
 public:
  explicit CommitClient(WorkerProcess& worker) : worker_(worker) {}

  // Why lost ranks cannot be replaced here, or empty.
  std::string refusal() const;
  // No process is left that could start the ranks again, not even all of them.
  bool ends_with_rank() const;
  // The ranks train on GPUs.
  bool has_devices() const;

  // This rank holds that step and comes to further ones; 0: it will get one.
  void enter(uint64_t step);
  // Keeps the small part of this rank's state at the end of that step, and waits until all ranks
  // have: then the step counts, whatever happens to any of them. Throws kPeerLost, kTimeout.
  void prepare(uint64_t step, std::string_view small);
  // Keeps it once more. All ranks have come to that step.
  void commit(uint64_t step, std::string_view small);
  // What this rank has kept at that step, or the process before it in its place; nothing without
  // it.
  std::optional<std::string> read(pages::CommitBoard::Part part, uint64_t step);

  // All ranks have come to a step that this one has not committed: it can only continue to that.
  bool is_between() const { return prepared_ > committed_; }
  // It does not come to any further step of this attempt: others that wait for it do no longer,
  // also in collectives.
  void leave();
  // From now on this rank goes back to its last commit when others are lost; or no longer.
  // `fixed`: why it cannot continue in a smaller group, or empty.
  void set_healable(bool is, std::string_view fixed);
  // Behind leave(): it has gone back to that step, 0 where it cannot, since others are lost;
  // `index`: of its first report after that. Returns when it continues in another attempt. Throws
  // kTimeout.
  void go_back(uint64_t step, int64_t index, const Error& error);

 private:
  pages::CommitBoard& board();
  int place() const;
  bool is_alone() const;

  WorkerProcess& worker_;
  std::optional<pages::CommitBoard> board_;
  uint64_t prepared_ = 0;
  uint64_t committed_ = 0;
};

}  // namespace rtrain::worker
