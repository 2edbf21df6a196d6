// host/decide/run/state_machine.h: the next actions of a run: step(machine, event) → (machine,
// actions).
//
// Pure: no clock, process or file. The controller performs the actions and feeds back what
// happened. stage.h has the stages and their order, event.h and action.h what goes in and out.
//
// A **heal** (train.elastic) replaces lost ranks while the others live: they go back to their last
// commit (Unwind, Unwound), the attempt's row is closed (EndHealed) and one for the next attempt
// written, which takes them over (HealGroup). No budget is charged but max_heals. Where no worker
// can take a lost rank's place (its node is lost, its process does not start) an elastic group
// continues without it, down to its least number of workers; the ranks get new numbers then.
//
// Where all ranks hold a commit of train.elastic the group also **grows** from there: they are
// asked (AskToGrow), go back to it (Unwound), each with its part on disk, and are ended; the next
// attempt begins with more workers and that commit. A rank that is lost meanwhile is a heal.
//
// A running group has a graceful shutdown (graceful_shutdown.h): it begins with AskToStop and ends
// when every rank has returned, with StopComplete or with GracePassed.
//
// Invariants: 1 a group is spawned only after its resources are held and its attempt's row is on
// disk; 2 the next attempt begins only after every process of the last one is gone and its row is
// closed; 3 an error of kind peer_lost is the cause only when no rank has another one; 4 a failure
// that came before another trouble stays the run's error; 5 after Finish nothing comes; 6 an event
// of a rank whose attempt is over changes nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "host/decide/failure_policy.h"
#include "host/decide/group_state.h"
#include "host/decide/run/action.h"
#include "host/decide/run/event.h"
#include "host/decide/run/stage.h"
#include "host/decide/scaling_policy.h"
#include "host/decide/stop_outcome.h"

namespace rtrain::decide {

// How often lost ranks may be replaced while the others live; -1: any number.
struct HealLimits {
  int max_heals = 0;
  double unwind_timeout_s = 1800;  // until the others are back at their last commit
  // From when ranks notice a loss until it is known here, at most: a node that is lost is waited
  // for. 0: there is one node.
  double loss_timeout_s = 0;
};

// Whether a rank has failed. The others get a moment to say what they know.
enum class Verdict {
  kNone,
  kDue,
  kAwaitsLoss,  // ranks have noticed a loss that is not known here
};

// The workers of an attempt, and what has happened to them. A heal carries it over into the next
// attempt.
struct Group {
  std::vector<RankState> ranks;   // empty while there are no processes
  Phase slowest = Phase::kSpawn;  // the phase that every rank has reached
  bool ran = false;               // every rank reached its train function
  Verdict verdict = Verdict::kNone;
  // A failure that is not a rank's: of start-up, of storage, of a node.
  std::optional<GroupError> error;
  bool is_transient = false;  // that error: the same may work another time
  // Of train.elastic: all ranks of the group have been in it together, so that a lost one can be
  // replaced; the group can continue with fewer of them; ranks were replaced, and have not got the
  // state yet.
  bool can_replace = false;
  bool can_shrink = false;
  bool is_healed = false;
};

struct Machine {
  Machine(ScalingPolicy scaling, FailurePolicy policy, double start_timeout_s = 60,
          HealLimits heal_limits = {})
      : scaling(scaling),
        policy(std::move(policy)),
        start_timeout_s(start_timeout_s),
        heal_limits(heal_limits) {}

  RunState state() const;
  // Of the last attempt or of the run.
  std::optional<GroupError> error() const { return error_of(stage); }
  // The attempt or the run ends for a reason that is known.
  bool has_cause() const;

  ScalingPolicy scaling;
  FailurePolicy policy;
  double start_timeout_s;
  HealLimits heal_limits;

  Stage stage = stage::Initializing{};
  int attempt = 0;
  int num_workers = 0;  // of the attempt
  Group group;
  int num_heals = 0;
  int barren_heals = 0;  // since all ranks held the state
  // The first report behind the written commit that the next attempt, or this one, begins with.
  std::optional<int64_t> carried;
  std::optional<StopProgress> stop;
  std::optional<GroupError> storage_error;  // writing has failed
};

struct Step {
  Machine machine;
  std::vector<Action> actions;
};

// Throws Error(kInternal) where the machine is in a state that must never be.
Step step(Machine machine, const Event& event);

}  // namespace rtrain::decide
