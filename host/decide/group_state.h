// host/decide/group_state.h: the state of each rank of an attempt, and the cause and kind of an
// attempt's failure. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/base/error.h"
#include "host/base/value.h"

namespace rtrain::decide {

// The phases of a worker's start, in their order. In kRunning it is in the train function.
enum class Phase { kSpawn, kHello, kEngineLoaded, kGroupReady, kRunning };
std::string_view phase_name(Phase phase);
std::optional<Phase> phase_from_name(std::string_view name);

// A rank has gone back to its last commit, because other ranks are lost.
struct Unwinding {
  int64_t step = 0;                  // the committed step that it holds; 0: none
  int64_t index = 0;                 // of its first report after that step
  Error error{Code::kInternal, ""};  // the error that made it go back
  double time_s = 0;
};

// What happens to the other ranks when a rank has died.
enum class DeathEffect {
  kEnds,      // they are ended
  kReplaced,  // they continue, and a new process takes its place
  kMoved,     // they wait for a new process on another node
  kLeftOut,   // they continue without it
};

struct RankState {
  Phase phase = Phase::kSpawn;
  bool returned = false;
  bool gone = false;
  std::optional<double> dying_s;  // when it was seen to die; its exit status comes later
  std::optional<Error> error;
  bool died = false;  // `error` describes its death; the rank itself has sent no error
  double error_time_s = 0;
  // Of train.elastic: it holds a committed step; it has gone back to this step, and continues from
  // there when the new group is complete.
  bool healable = false;
  std::string fixed = {};  // why it cannot continue in a smaller group; empty: it can
  std::optional<Unwinding> unwound = {};

  bool is_superfluous = false;  // the controller has ended it, since it had no state
  bool is_replaceable = true;   // a new process can take its place
  bool moves = false;           // that process needs another node: the rank's one is lost

  bool is_lost() const { return gone || dying_s.has_value(); }
};

// The kind of failure that ends an attempt; each has a retry budget of its own.
enum class FailureKind {
  kWorkerGroup,  // a worker raised or died: max_failures
  kController,   // the group did not start, or the controller could not continue:
                 // controller_failure_limit
  kPreemption,   // cores or the whole process were taken away: max_preemption_failures
};

// Ray's name of the error: "WorkerGroupError".
std::string_view error_kind_name(FailureKind kind);

// The error of a failed attempt: its cause, the rank of the cause (-1: no particular rank), its
// kind, and the errors of all ranks that have one.
struct GroupError {
  Error cause{Code::kInternal, ""};
  int rank = -1;
  FailureKind kind = FailureKind::kWorkerGroup;
  std::map<int, Error> ranks = {};
};

// {code, message, traceback, kind, rank, ranks}: `ranks` has the error of each rank. Null without
// an error.
Value to_value(const std::optional<GroupError>& error);

bool all_returned(const std::vector<RankState>& ranks);
bool any_returned(const std::vector<RankState>& ranks);
// Whether a process has died: the controller did not end it.
bool any_died(const std::vector<RankState>& ranks);
bool all_healable(const std::vector<RankState>& ranks);
bool all_gone(const std::vector<RankState>& ranks);
// The number of ranks that live or can be replaced.
int num_kept(const std::vector<RankState>& ranks);
// Whether the others can continue, with lost ranks replaced or left out: one of the others holds a
// committed step, no rank has returned or raised an error, and num_kept() >= least_workers.
bool can_heal(const std::vector<RankState>& ranks, int least_workers);
// The committed step that all remaining ranks have gone back to. Null where one of them has not
// gone back, or not to the same step.
const Unwinding* step_of(const std::vector<RankState>& ranks);
// Whether every rank has returned, failed or died, so that no rank can send another error.
bool all_accounted_for(const std::vector<RankState>& ranks);
// The phase that every rank has reached.
Phase slowest_phase(const std::vector<RankState>& ranks);

// Chooses the cause among the errors of the ranks: the earliest error that is not peer_lost, else
// the earliest one. Where it is a death before the train function, the kind is kController.
GroupError first_cause(const std::vector<RankState>& ranks);

}  // namespace rtrain::decide
