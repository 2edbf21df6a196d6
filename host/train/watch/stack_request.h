// host/train/watch/stack_request.h: requests stacks from workers and adds what is known from their
// facts.
//
// Belongs to the control thread. A worker that is stopped, does not answer in time or ends is
// described by its facts. A request made while another is in progress shares its answer. A request
// ends at the latest when its last worker has ended.
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

namespace rtrain::train {

class StackRequest {
 public:
  // The stacks by rank, without phases.
  using Done = std::function<void(const std::vector<loop::RankStack>& stacks)>;
  struct Target {
    int rank;
    int pid;
  };

  using Facts = std::function<decide::RankFacts(int rank)>;
  using Send = std::function<void(int rank, message::ToWorker message)>;

  // `deadline`: for the workers' answers.
  StackRequest(loop::Loop& loop, Facts facts, Send send,
               std::chrono::milliseconds deadline = std::chrono::milliseconds(2500));

  // With a folder, each worker first writes the operations submitted to its devices there.
  void start(const std::vector<Target>& targets, const std::string& folder, Done done);
  void on_answer(int rank, message::Stack stack);
  // The worker's process has ended.
  void on_gone(int rank);

 private:
  // A worker that was asked, and its answer.
  struct Asked {
    Target target;
    std::optional<message::Stack> answer;
    bool is_gone = false;
    bool is_done() const { return is_gone || answer; }
  };
  Asked* find(int rank);
  void finish_if_done();
  void finish();
  loop::RankStack describe(const Asked& asked) const;

  Facts facts_;
  Send send_;
  std::vector<Asked> asked_;
  std::vector<Done> waiting_;  // empty: no request in progress
  int64_t id_ = 0;
  std::chrono::milliseconds most_;
  loop::Timer deadline_;
};

enum class StackDetail {
  kScript,  // the script's lines; the library's if there are none
  kAll,     // all Lua lines, and the native frames of all threads
};

// Formats the stacks of one rank for users.
std::string stack_text(const loop::RankStack& stack, StackDetail detail = StackDetail::kAll);

}  // namespace rtrain::train
