#include "tests/sim/worlds/stop_world.h"

#include <algorithm>

#include "host/base/text/text.h"

namespace rtrain::sim {
namespace {

constexpr int kMostRanks = 4;
constexpr int kMostSteps = 300;
constexpr int kMostCalm = 4000;

}  // namespace

StopWorld::StopWorld(Draws& draws)
    : draws_(draws),
      ranks_(static_cast<size_t>(1 + draws.below(kMostRanks))),
      agreement_(static_cast<int>(ranks_.size())) {}

void StopWorld::live() {
  const int num_wild = draws_.below(kMostSteps);
  for (int i = 0; i < num_wild; ++i) step_on();
  is_calm_ = true;
  const auto has_stopped = [](const Rank& rank) { return rank.has_left; };
  for (int i = 0; i < kMostCalm && !std::ranges::all_of(ranks_, has_stopped); ++i) step_on();
  demand(std::ranges::all_of(ranks_, has_stopped), "a rank never stops");
  mark(agreement_.at() ? "stopped at an agreed call" : "all ranks had left");
}

// One rank, or the controller, takes one step.
void StopWorld::step_on() {
  const int num_actors = static_cast<int>(ranks_.size()) + 1;
  const int actor = is_calm_ ? turn_++ % num_actors : draws_.below(num_actors);
  if (actor + 1 < num_actors) return act(static_cast<size_t>(actor));
  if (!is_asked_ && (is_calm_ || draws_.chance(0.1))) {
    is_asked_ = true;
    tell([] { return "send(agreement.prepare());"; });
    send(agreement_.prepare());
  } else if (!is_calm_ && draws_.chance(0.2)) {
    tell([] { return "send(agreement.on_deadline());"; });
    send(agreement_.on_deadline());
    mark("a round was given up");
  }
}

void StopWorld::act(size_t number) {
  Rank& rank = ranks_[number];
  const bool has_said = rank.is_leaving || !rank.answers.empty();
  if (has_said && (is_calm_ || draws_.chance(0.5))) return hear(static_cast<int>(number));
  if (rank.has_left) return;
  if (rank.is_frozen) {
    rank.is_frozen = !is_calm_ && !draws_.chance(0.1);
    return;
  }
  rank.is_frozen = !is_calm_ && draws_.chance(0.02);
  if (!rank.orders.empty() && (is_calm_ || draws_.chance(0.5))) return take_order(rank);
  if (is_calm_ || !draws_.chance(0.005)) return call(rank);
  rank.has_left = rank.is_leaving = true;
  mark("a rank left by itself");
}

void StopWorld::take_order(Rank& rank) {
  const decide::StopOrder order = rank.orders.front();
  rank.orders.pop_front();
  tell([&] { return cat("rank takes order of round ", order.round); });
  if (order.type == decide::StopOrder::Type::kPrepare) {
    rank.is_held = true;
    rank.answers.push_back({order.round, rank.calls});
    return;
  }
  rank.is_held = false;
  rank.at = order.at;
  demand(!rank.at || rank.calls < *rank.at,
         "a rank has made the agreed call before it was agreed on");
}

// The controller reads the next answer of a rank; the end of the rank's channel comes last.
void StopWorld::hear(int number) {
  Rank& rank = ranks_[static_cast<size_t>(number)];
  if (!rank.answers.empty()) {
    const Answer answer = rank.answers.front();
    rank.answers.pop_front();
    tell([&] {
      return cat("send(agreement.on_calls(", number, ", ", answer.round, ", ", answer.calls, "));");
    });
    return send(agreement_.on_calls(number, answer.round, answer.calls));
  }
  rank.is_leaving = false;
  tell([&] { return cat("send(agreement.on_left(", number, "));"); });
  send(agreement_.on_left(number));
}

// A rank enters the collective, and then makes the call.
void StopWorld::call(Rank& rank) {
  if (rank.meetings == rank.calls) {
    ++rank.meetings;
    return;
  }
  const auto missing = std::ranges::find_if(
      ranks_, [&](const Rank& other) { return other.meetings < rank.meetings; });
  if (missing != ranks_.end()) {
    rank.has_left = rank.is_leaving = missing->has_left;  // the collective fails if the missing
                                                          // rank has left; otherwise the rank waits
    return;
  }
  if (rank.is_held) return;
  ++rank.calls;
  if (!rank.at || rank.calls < *rank.at) return;
  for (const Rank& other : ranks_)
    demand(other.calls <= rank.calls, "ranks stop at different calls");
  rank.has_left = rank.is_leaving = true;
}

void StopWorld::send(const std::optional<decide::StopOrder>& order) {
  if (!order) return;
  if (agreement_.at()) {
    for (const Rank& rank : ranks_)
      demand(rank.has_left || rank.calls < *agreement_.at(), "the agreed call was made before");
  }
  for (Rank& rank : ranks_) {
    if (!rank.has_left) rank.orders.push_back(*order);
  }
}

}  // namespace rtrain::sim
