// host/train/stack_request.h: asks workers for their stacks and completes what they cannot say
// from their pages and /proc.
//
// Belongs to the control thread. A worker that is stopped or does not answer in time is described
// by what its page shows. Requests that come while one is under way share its answer.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "host/base/progress_board.h"
#include "host/base/value.h"
#include "host/loop/timer.h"

namespace rtrain {

class StackRequest {
 public:
  // By rank: {rank, pid, state, lua, threads, collectives}.
  using Done = std::function<void(const List& stacks)>;
  struct Target {
    int rank;
    int pid;
  };

  StackRequest(Loop& loop, const ProgressBoard& board,
               std::function<void(int rank, const Value& message)> send);

  // With a folder, a worker writes there what its devices were given before it answers.
  void start(const std::vector<Target>& targets, const std::string& folder, Done done);
  void on_answer(int rank, const Value& message);

 private:
  void finish();
  Map describe(const Target& target) const;

  const ProgressBoard& board_;
  std::function<void(int rank, const Value& message)> send_;
  std::vector<Target> targets_;
  std::vector<Value> answers_;
  std::vector<Done> waiting_;
  int64_t id_ = 0;
  Timer deadline_;
};

// The stacks of one rank as text for people.
std::string stack_text(const Value& stack);

}  // namespace rtrain
