// host/decide/run/state_machine.h: the next actions of a run: step(machine, event) → (machine,
// actions).
//
// Pure: no clock, process or file. The controller carries out the actions and feeds back events.
// stage.h has the stages and their order, event.h the events, action.h the actions.
//
// A **heal** (train.elastic) replaces lost ranks while the others live. The others go back to their
// last commit (Unwind, Unwound). The attempt's row is closed (EndHealed), the row of the next one
// is written, and that attempt takes the processes over (HealGroup). Only max_heals is charged.
// Where no worker can take a lost rank's place (its node is lost, or its process does not start) an
// elastic group continues without it, down to min_workers, and the ranks get new numbers. A group
// of fixed size waits for another node with room (FindRoom, RoomFound), at most room_timeout_s.
//
// Where all ranks hold a commit of train.elastic the group can also **grow**: the ranks are asked
// to (AskToGrow), go back to a commit, write their parts of it to the disk (Unwound) and are ended.
// The next attempt has more workers and continues from this commit. A loss meanwhile is healed.
//
// A running group ends with a graceful shutdown (graceful_shutdown.h): it begins with AskToStop and
// is over when every rank has returned, at StopComplete or at GracePassed.
//
// Invariants: 1 a group is started only after its resources are held and its attempt's row is on
// disk; 2 except in a heal, the next attempt begins only after every process of the last one is
// gone and its row is closed; 3 an error peer_lost is the cause only when no rank has another one;
// 4 a later failure does not replace an earlier error of the run; 5 after Finish there is no
// action; 6 an event of a rank whose attempt is over changes nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
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
  // The longest time from when ranks notice a loss until the controller knows of it: a lost node is
  // found by its time-out. 0: the job has one node.
  double loss_timeout_s = 0;
  // How long the others wait for a node that takes the ranks of a lost one.
  double room_timeout_s = 60;
  // The ranks can leave the state of their last commit to a larger group, in a folder that all
  // nodes see; else the group grows at a checkpoint.
  bool can_carry = true;
};

// Whether a rank has failed. The other ranks get a moment to send their errors.
enum class Verdict {
  kNone,
  kDue,
  kAwaitsLoss,  // ranks have noticed a loss that the controller does not know of yet
};

// The workers of an attempt, and what has happened to them. A heal carries it over into the next
// attempt.
struct Group {
  std::vector<RankState> ranks;   // empty while there are no processes
  Phase slowest = Phase::kSpawn;  // the phase that every rank has reached
  bool ran = false;               // every rank reached its train function
  Verdict verdict = Verdict::kNone;
  // A failure of no rank's train function: of the start, of storage or of a node.
  std::optional<GroupError> error;
  bool is_transient = false;  // `error` may not come again
  // Of train.elastic:
  // all ranks have held a committed step, so that a lost rank can be replaced; the group can
  // continue with fewer ranks; ranks were replaced, and not all of them hold the state yet; nodes
  // were asked for spares.
  bool can_replace = false;
  bool can_shrink = false;
  bool is_healed = false;
  bool keeps_spares = false;
};

struct Machine {
  Machine(ScalingPolicy scaling, FailurePolicy policy, double start_timeout_s = 60,
          HealLimits heal_limits = {})
      : scaling(scaling),
        policy(std::move(policy)),
        start_timeout_s(start_timeout_s),
        heal_limits(heal_limits) {}

  RunState state() const;
  // The error of the last attempt or of the run; nullopt without one.
  std::optional<GroupError> error() const { return error_of(stage); }
  // Whether the attempt or the run ends for a reason that is known.
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
  int barren_heals = 0;  // heals since all ranks last held the state
  // The number of the first report after the commit that this attempt or the next one begins with.
  std::optional<int64_t> carried;
  std::optional<StopProgress> stop;
  std::optional<GroupError> storage_error;  // of StorageFailed
  std::set<int> given_up;                   // of RankSlow
};

struct Step {
  Machine machine;
  std::vector<Action> actions;
};

// Throws Error(kInternal) where the machine breaks an invariant.
Step step(Machine machine, const Event& event);

}  // namespace rtrain::decide
