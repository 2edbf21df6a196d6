// host/train/health_control.h: decides on evidence against the nodes of a run.
//
// The script's evaluators decide, on the script's thread, if there are any; otherwise, or if they
// do not answer, Evidence::default_action() does. Repeated evidence is ignored.
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

namespace rtrain::train {

class HealthControlDelegate {
 public:
  virtual ~HealthControlDelegate() = default;
  virtual void feed(decide::Event event) = 0;
  // Saves the stacks of all ranks with this text.
  virtual void diagnose(const std::string& text) = 0;
  // The first rank of the running attempt on that node.
  virtual std::optional<int> rank_on(int node) const = 0;
};

class HealthControl {
 public:
  // `*resources` must exist when add() is called.
  HealthControl(const RunContext& run, const std::unique_ptr<Resources>& resources,
                HealthControlDelegate& delegate)
      : run_(run), resources_(resources), delegate_(delegate) {}

  // `decided` is called when the decision was carried out, possibly inside this call.
  using Decided = std::function<void()>;
  void add(decide::Evidence evidence, Decided decided);
  // A new attempt begins: earlier evidence counts again.
  void begin_attempt() { known_.clear(); }

 private:
  void ask(const decide::Evidence& evidence, const Decided& decided);
  void act(const decide::Evidence& evidence, decide::HealthAction action);
  void evict(const decide::Evidence& evidence);
  void end_attempt(const decide::Evidence& evidence, const Error& error, decide::FailureKind kind);

  const RunContext& run_;
  const std::unique_ptr<Resources>& resources_;
  HealthControlDelegate& delegate_;
  std::set<std::string> known_;
};

}  // namespace rtrain::train
