// tests/unit/decide/heal_driver.h: drives the state machine of a run in train.elastic through
// losses and heals.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "host/decide/run/state_machine.h"

namespace rtrain::decide {

// Its ranks are in their train functions from the beginning.
class HealDriver {
 public:
  explicit HealDriver(int workers, int max_heals = -1, int max_failures = 0)
      : HealDriver(ScalingPolicy::fixed(workers), workers, max_heals, max_failures) {}
  // Creates an elastic group.
  HealDriver(int min_workers, int workers, const std::string& fixed)
      : HealDriver(ScalingPolicy::elastic(min_workers, workers, 60), workers, -1, 1) {
    for (int rank = 0; rank < workers; ++rank) feed(event::Healable{rank, true, fixed});
  }
  HealDriver(const ScalingPolicy& scaling, int workers, int max_heals, int max_failures)
      : machine_(scaling, FailurePolicy({.max_failures = max_failures}, 1), 60,
                 {.max_heals = max_heals, .loss_timeout_s = scaling.is_elastic() ? 35.0 : 0.0}) {
    feed(event::Started{}).feed(event::ResourcesGranted{workers}).feed(event::AttemptBegun{});
    for (int rank = 0; rank < workers; ++rank) reach(rank);
  }

  HealDriver& feed(const Event& event) {
    Step next = step(std::move(machine_), event);
    machine_ = std::move(next.machine);
    actions_ = std::move(next.actions);
    return *this;
  }
  HealDriver& reach(int rank) {
    feed(event::PhaseReached{rank, Phase::kHello});
    return feed(event::PhaseReached{rank, Phase::kRunning});
  }
  HealDriver& hold(int rank) { return feed(event::Healable{rank, true}); }
  HealDriver& all_hold() {
    for (int rank = 0; rank < machine_.num_workers; ++rank) hold(rank);
    return *this;
  }
  HealDriver& dying(int rank) { return feed(event::Dying{rank, 1}); }
  HealDriver& lose_host_of(int rank) {
    return feed(event::Gone{rank, Error(Code::kWorkerLost, "not heard of"), 1, false});
  }
  HealDriver& gone(int rank) {
    return feed(event::Gone{rank, Error(Code::kWorkerLost, "killed"), 2});
  }
  HealDriver& unwind(int rank, int64_t step = 7, int64_t index = 3) {
    return feed(event::Unwound{
        rank, {.step = step, .index = index, .error = {Code::kPeerLost, "lost"}, .time_s = 2}});
  }
  // Loses rank 0; all other ranks unwind.
  HealDriver& lose_first() {
    dying(0).gone(0);
    for (int rank = 1; rank < machine_.num_workers; ++rank) unwind(rank);
    return *this;
  }
  HealDriver& write_rows() {
    feed(event::AttemptEnded{false});
    return feed(event::AttemptBegun{});
  }

  template <class T>
  const T* find() const {
    for (const Action& action : actions_) {
      if (const T* found = std::get_if<T>(&action)) return found;
    }
    return nullptr;
  }
  RunState state() const { return machine_.state(); }
  int attempt() const { return machine_.attempt; }
  int num_workers() const { return machine_.num_workers; }

 private:
  Machine machine_;
  std::vector<Action> actions_;
};

}  // namespace rtrain::decide
