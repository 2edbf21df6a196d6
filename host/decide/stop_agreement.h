// host/decide/stop_agreement.h: the call of train.stop_requested() from which on every rank is
// answered with true.
//
// Ranks synchronize in a collective between two calls, so a rank that leaves one call earlier than
// the others hangs them. Hence two phases: `prepare` holds each rank's next call and brings back
// how many calls it has made; `release` says at which one to stop: the one after the highest count,
// which no rank has made yet. Both are answered by the ranks' control threads, whatever Lua does.
//
// Pure: no clock, no channel. The caller sends the orders to all ranks that have not left, and
// tells when the deadline of a round has passed: a rank whose process is stopped or stuck in the
// kernel does not answer. The others are let go then, and its late answer begins the next round.
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
  kTerminate,  // SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGXCPU: the machine is wanted back
  kOperator,   // rtrain stop RUN
  kPredicate,  // RunConfig.stop says that it is enough
  kResize,     // the group gets another size
};
std::string_view stop_name(StopKind kind);

// The orders to the ranks.
struct StopOrder {
  enum class Type { kPrepare, kRelease };
  Type type = Type::kPrepare;
  int round = 1;
  std::optional<int64_t> at;  // of a release: the first call that returns true; none: not yet

  bool operator==(const StopOrder&) const = default;
};

class StopAgreement {
 public:
  explicit StopAgreement(int num_workers);

  // Each returns the order to send, if there is one.
  std::optional<StopOrder> prepare();
  std::optional<StopOrder> on_calls(int rank, int round, int64_t calls);
  // The rank's train function has returned or raised, or its process is gone: it calls no more.
  std::optional<StopOrder> on_left(int rank);
  std::optional<StopOrder> on_deadline();

  bool has_left(int rank) const;
  // The call at which the ranks stop; nothing before that is agreed.
  std::optional<int64_t> at() const { return at_; }
  // A rank had called stop_requested() before the agreement: the train function will see it.
  bool is_polled() const { return at_.value_or(1) > 1; }
  // Ranks that have not answered this round.
  std::vector<int> missing() const;

 private:
  struct Rank {
    bool left = false;
    std::optional<int64_t> calls;  // as answered in this round
  };

  std::optional<StopOrder> try_release();

  std::vector<Rank> ranks_;
  int round_ = 0;
  bool holding_ = false;
  std::optional<int64_t> at_;
};

}  // namespace rtrain::decide
