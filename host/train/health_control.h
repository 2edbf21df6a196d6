// host/train/health_control.h: the decisions on evidence against the hosts of a run.
//
// The evaluators of the script decide where it has some, asked on its own thread; else, or when
// they do not answer, Evidence::default_action(). The same evidence counts once.
//
// Belongs to the control thread.
#pragma once

#include <functional>
#include <set>
#include <string>

#include "host/decide/evidence.h"
#include "host/decide/run/state_machine.h"
#include "host/train/record/run_context.h"
#include "host/train/resources/resources.h"

namespace rtrain {

class HealthControlDelegate {
 public:
  virtual ~HealthControlDelegate() = default;
  virtual void feed(Event event) = 0;
  // Saves the stacks of all ranks with that text.
  virtual void diagnose(const std::string& text) = 0;
  // The first rank that the running attempt has on that host.
  virtual std::optional<int> rank_on(int node) const = 0;
};

class HealthControl {
 public:
  // `resources` are there when add() is called.
  HealthControl(const RunContext& run, const std::unique_ptr<Resources>& resources,
                HealthControlDelegate& delegate)
      : run_(run), resources_(resources), delegate_(delegate) {}

  // Calls `decided` when all that is to be done about it was done, be it inside this call.
  using Decided = std::function<void()>;
  void add(Evidence evidence, Decided decided);
  // Another attempt begins: what was seen before counts again.
  void begin_attempt() { known_.clear(); }

 private:
  void ask(const Evidence& evidence, const Decided& decided);
  void act(const Evidence& evidence, HealthAction action);
  void evict(const Evidence& evidence);
  void end_attempt(const Evidence& evidence, const Error& error, FailureKind kind);

  const RunContext& run_;
  const std::unique_ptr<Resources>& resources_;
  HealthControlDelegate& delegate_;
  std::set<std::string> known_;
};

}  // namespace rtrain
