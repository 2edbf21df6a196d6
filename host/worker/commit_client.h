// host/worker/commit_client.h: a worker's side of train.elastic: it commits this rank's part of
// each step, and goes back to the last commit.
//
// Thread: main. The ranks of a node synchronize through a board in shared memory
// (host/pages/commit_board.h). With several nodes the last rank of each node notifies the
// controller, which notifies the nodes when all ranks are ready.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "host/loop/messages/to_controller.h"
#include "host/pages/commit_board.h"

namespace rtrain::worker {

class WorkerProcess;

class CommitClient {
 public:
  explicit CommitClient(WorkerProcess& worker) : worker_(worker) {}

  // Why lost ranks cannot be replaced here; empty: they can.
  std::string refusal() const;
  // Whether the controller ends with this process (local mode): then no process replaces a rank.
  bool ends_with_rank() const;
  // Whether the ranks train on GPUs.
  bool has_devices() const;

  // This rank holds this step and will commit further ones. 0: it holds none, and will get one.
  void enter(uint64_t step);
  // Whether prepare() gets a copy for the first node.
  bool is_copied() const;
  // Writes the small part of this rank's state at the end of the step, and waits until all ranks
  // have: then the step counts, whatever happens to a rank. `copy`: what the first node keeps of
  // it; may be empty. Throws kPeerLost, kTimeout.
  void prepare(uint64_t step, std::string_view small, std::string_view copy = {});
  // Writes the small part again: all ranks were ready, and this rank has committed the step.
  void commit(uint64_t step, std::string_view small);
  // Returns the small part that this rank, or the process before it in its place, has written at
  // this step; else nullopt.
  std::optional<std::string> read(pages::CommitBoard::Part part, uint64_t step);

  // Whether all ranks are ready for a step that this one has not committed yet: it must commit it.
  bool is_between() const { return prepared_ > committed_; }
  // This rank takes part in no further step of this attempt. The waits of other ranks for it end
  // with an error, also in collectives.
  void leave();
  // Whether this rank goes back to its last commit from now on when others are lost. `fixed`: why
  // it cannot continue in a smaller group; empty: it can.
  void set_healable(bool is, std::string_view fixed);
  // After leave(): this rank has gone back to `step` because of `error`; 0: it cannot go back.
  // `index`: the number of its first report after that. Returns when it continues in another
  // attempt. Throws kTimeout.
  void go_back(uint64_t step, int64_t index, const Error& error);

 private:
  pages::CommitBoard& board();
  message::NodeReady node_ready(uint64_t step);
  int place() const;
  bool is_alone() const;

  WorkerProcess& worker_;
  std::optional<pages::CommitBoard> board_;
  uint64_t prepared_ = 0;
  uint64_t committed_ = 0;
};

}  // namespace rtrain::worker
