// tests/unit/decide/run_driver.h: drives the state machine of a run through its life.
#pragma once

#include <utility>
#include <vector>

#include "host/decide/run/state_machine.h"

namespace rtrain::decide {

// Feeds events to the state machine of a run and keeps the actions of the last event.
class RunDriver {
 public:
  explicit RunDriver(int workers, int max_failures = 0)
      : RunDriver(ScalingPolicy::fixed(workers), {.max_failures = max_failures}) {}
  RunDriver(ScalingPolicy scaling, const FailureLimits& limits, const HealLimits& heals = {})
      : machine_(scaling, FailurePolicy(limits, 1), 60, heals) {}

  RunDriver& feed(const Event& event) {
    Step next = step(std::move(machine_), event);
    machine_ = std::move(next.machine);
    actions_ = std::move(next.actions);
    return *this;
  }

  template <class T>
  const T* find() const {
    for (const Action& action : actions_) {
      if (const T* found = std::get_if<T>(&action)) return found;
    }
    return nullptr;
  }

  RunDriver& start_group() {
    feed(event::Started{});
    return grant(machine_.scaling.max_workers()).begin_attempt();
  }
  RunDriver& grant(int workers) { return feed(event::ResourcesGranted{workers}); }
  RunDriver& begin_attempt() { return feed(event::AttemptBegun{}); }
  RunDriver& all_reach(Phase phase) {
    for (int rank = 0; rank < machine_.num_workers; ++rank) feed(event::PhaseReached{rank, phase});
    return *this;
  }
  RunDriver& run() { return start_group().all_reach(Phase::kHello).all_reach(Phase::kRunning); }
  RunDriver& fail(int rank, Code code, const char* text, double time_s = 1) {
    return feed(event::Failed{rank, Error(code, text), time_s});
  }
  RunDriver& die(int rank) {
    return feed(event::Gone{rank, Error(Code::kWorkerLost, "rank died"), 2});
  }
  RunDriver& all_gone() {
    for (int rank = 0; rank < machine_.num_workers; ++rank) {
      if (!machine_.group.ranks[static_cast<size_t>(rank)].gone) die(rank);
    }
    return *this;
  }

  // The attempt fails, its processes end and its row is closed.
  RunDriver& lose_attempt(bool new_checkpoint = false) {
    die(0).feed(event::VerdictDue{machine_.attempt}).all_gone();
    return feed(event::AttemptEnded{new_checkpoint});
  }
  // Starts the next attempt.
  RunDriver& retry(int workers) {
    feed(event::RetryDue{machine_.attempt});
    return resize(workers);
  }
  RunDriver& resize(int workers) {
    return grant(workers).begin_attempt().all_reach(Phase::kRunning);
  }

  RunState state() const { return machine_.state(); }
  int attempt() const { return machine_.attempt; }
  bool has_acted() const { return !actions_.empty(); }

 private:
  Machine machine_;
  std::vector<Action> actions_;
};

}  // namespace rtrain::decide
