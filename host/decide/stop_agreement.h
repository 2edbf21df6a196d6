// host/decide/stop_agreement.h: the ranks agree on the call of train.stop_requested() from which on
// it returns true on every rank.
//
// Ranks synchronize in a collective between two calls. A rank that stops one call earlier than the
// others would hang them. Hence two phases: `prepare` holds each rank's next call and asks how many
// calls the rank has made. `release` says at which call to stop: the one after the highest count,
// which no rank has made yet. The ranks' control threads answer, also while Lua is busy.
//
// Pure: no clock, no channel. The caller sends the orders to all ranks that have not left. A rank
// whose process is stopped, or blocked in the kernel, does not answer: the caller calls
// on_deadline(), the others continue, and the rank's late answer begins the next round.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rtrain::decide {

// Why a run is asked to stop.
enum class StopKind {
  kInterrupt,  // Ctrl-C
  kTerminate,  // SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGXCPU: the machine is taken away
  kOperator,   // rtrain stop RUN
  kPredicate,  // the condition in RunConfig.stop holds
  kResize,     // the group gets another size
};
std::string_view stop_name(StopKind kind);

// An order to the ranks.
struct StopOrder {
  enum class Type { kPrepare, kRelease };
  Type type = Type::kPrepare;
  int round = 1;
  std::optional<int64_t> at;  // of kRelease: the first call that returns true; nullopt: not yet

  bool operator==(const StopOrder&) const = default;
};

class StopAgreement {
 public:
  explicit StopAgreement(int num_workers);

  // Each of these returns the order to send to the ranks, if there is one.
  std::optional<StopOrder> prepare();
  std::optional<StopOrder> on_calls(int rank, int round, int64_t calls);
  // The rank calls no more: its train function has returned or raised, or its process is gone.
  std::optional<StopOrder> on_left(int rank);
  std::optional<StopOrder> on_deadline();

  bool has_left(int rank) const;
  // The call at which the ranks stop; nullopt before they have agreed.
  std::optional<int64_t> at() const { return at_; }
  // Whether a rank called stop_requested() before the agreement: its train function will see it.
  bool is_polled() const { return at_.value_or(1) > 1; }
  // Ranks that have not answered this round.
  std::vector<int> missing() const;

 private:
  struct Rank {
    bool left = false;
    std::optional<int64_t> calls;  // its answer in this round
  };

  std::optional<StopOrder> try_release();

  std::vector<Rank> ranks_;
  int round_ = 0;
  bool holding_ = false;
  std::optional<int64_t> at_;
};

}  // namespace rtrain::decide
