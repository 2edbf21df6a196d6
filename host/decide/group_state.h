// host/decide/group_state.h: how far the ranks of an attempt have come, and what a failed
// attempt is charged to. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/base/error.h"
#include "host/base/value.h"

namespace rtrain::decide {

// How far a worker is on its way to the train function.
enum class Phase { kSpawn, kHello, kEngineLoaded, kGroupReady, kRunning };
std::string_view phase_name(Phase phase);
std::optional<Phase> phase_from_name(std::string_view name);

// A rank that has gone back to its last commit, since others are lost.
struct Unwinding {
  int64_t step = 0;                  // that it holds; 0: none
  int64_t index = 0;                 // of its first report after that
  Error error{Code::kInternal, ""};  // that has brought it back
  double time_s = 0;
};

// The effect of a death on the other ranks.
enum class DeathEffect {
  kEnds,      // they are ended
  kReplaced,  // they live on, and another process takes its place
  kLeftOut,   // they live on without it
};

struct RankState {
  Phase phase = Phase::kSpawn;
  bool returned = false;
  bool gone = false;
  std::optional<double> dying_s;  // seen to die by itself; its end comes with its status
  std::optional<Error> error;
  bool died = false;  // the error is its death, it did not say it itself
  double error_time_s = 0;
  // Of train.elastic. It holds a committed step; it has gone back to it (a rank that has is not
  // `healable` before the new group is complete).
  bool healable = false;
  std::string fixed = {};  // why it cannot continue in a smaller group, or empty
  std::optional<Unwinding> unwound = {};

  bool is_superfluous = false;  // ended by us, since it had no state
  bool is_replaceable = true;   // another process can take its place

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

// One failed attempt: the cause, the rank it came from (-1: none in particular), and the error of
// each rank said.
struct GroupError {
  Error cause{Code::kInternal, ""};
  int rank = -1;
  FailureKind kind = FailureKind::kWorkerGroup;
  std::map<int, Error> ranks = {};
};

// {code, message, traceback, kind, rank, ranks}, where `ranks` is what each rank said; null without
// an error.
Value to_value(const std::optional<GroupError>& error);

bool all_returned(const std::vector<RankState>& ranks);
bool any_returned(const std::vector<RankState>& ranks);
// A process has ended by itself.
bool any_died(const std::vector<RankState>& ranks);
bool all_healable(const std::vector<RankState>& ranks);
bool all_gone(const std::vector<RankState>& ranks);
// Those that are there, or can be replaced.
int num_kept(const std::vector<RankState>& ranks);
// Lost ranks can be replaced or left out while the others continue: one of these holds the state of
// all, no rank has returned or failed for another reason, and at least that many are kept.
bool can_heal(const std::vector<RankState>& ranks, int least_workers);
// The step that all ranks that are left have gone back to; null where one of them has not, or
// another one.
const Unwinding* step_of(const std::vector<RankState>& ranks);
// Every rank has returned, failed or died: nothing more can be learned.
bool all_accounted_for(const std::vector<RankState>& ranks);
// The phase that every rank has reached.
Phase slowest_phase(const std::vector<RankState>& ranks);

// The cause among the errors of the ranks: the earliest error that is not peer_lost, else the
// earliest. A death before the train function began is a failed start.
GroupError first_cause(const std::vector<RankState>& ranks);

}  // namespace rtrain::decide
