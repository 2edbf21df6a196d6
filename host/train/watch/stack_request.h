// host/train/watch/stack_request.h: asks workers for their stacks and completes what they cannot
// say from their facts.
//
// Belongs to the control thread. A worker that is stopped, does not answer in time or ends is
// described by its facts. Requests that come while one is under way share its answer. A
// request ends when the last of its workers has ended, at the latest.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "host/decide/rank_facts.h"
#include "host/loop/messages/commands.h"
#include "host/loop/messages/to_controller.h"
#include "host/loop/messages/to_worker.h"
#include "host/loop/timer.h"

namespace rtrain {

class StackRequest {
 public:
  // By rank; without their phases.
  using Done = std::function<void(const std::vector<RankStack>& stacks)>;
  struct Target {
    int rank;
    int pid;
  };

  using Facts = std::function<RankFacts(int rank)>;
  using Send = std::function<void(int rank, message::ToWorker message)>;

  // `deadline`: for the workers' answers.
  StackRequest(Loop& loop, Facts facts, Send send,
               std::chrono::milliseconds deadline = std::chrono::milliseconds(2500));

  // With a folder, a worker writes there what its devices were given before it answers.
  void start(const std::vector<Target>& targets, const std::string& folder, Done done);
  void on_answer(int rank, message::Stack stack);
  // The worker's process has ended.
  void on_gone(int rank);

 private:
  // A worker that is asked, and what it said.
  struct Asked {
    Target target;
    std::optional<message::Stack> answer;
    bool is_gone = false;
    bool is_done() const { return is_gone || answer; }
  };
  Asked* find(int rank);
  void finish_if_done();
  void finish();
  RankStack describe(const Asked& asked) const;

  Facts facts_;
  Send send_;
  std::vector<Asked> asked_;
  std::vector<Done> waiting_;  // none: no request is under way
  int64_t id_ = 0;
  std::chrono::milliseconds most_;
  Timer deadline_;
};

enum class StackDetail {
  kScript,  // the script's lines; the library's where there are none
  kAll,     // all of Lua's, and the native frames of every thread
};

// The stacks of one rank as text for people.
std::string stack_text(const RankStack& stack, StackDetail detail = StackDetail::kAll);

}  // namespace rtrain
