#include "tests/sim/worlds/slow_world.h"

#include <algorithm>

#include "host/base/text/text.h"

namespace rtrain::sim {
namespace {

using decide::SlowCause;

constexpr int kMostRanks = 8;
constexpr double kLook = 0.25;
constexpr double kHear = 1;
constexpr double kLinkLooks = 20;  // a second
constexpr int kWarmUp = 3;         // steps that take far longer
// By then it must be named: the window of ten segments, each of three steps, of which two may be
// older, and facts of other nodes that are a second old.
constexpr int kLeastSteps = 50;
constexpr double kLeastS = 25;
constexpr double kLate = 60;  // seconds after the end in which it must keep up again

constexpr SlowCause kCauses[] = {SlowCause::kData,       SlowCause::kCompute, SlowCause::kOther,
                                 SlowCause::kThrottled,  SlowCause::kDevice,  SlowCause::kCores,
                                 SlowCause::kStolen,     SlowCause::kMemory,  SlowCause::kStopped,
                                 SlowCause::kCheckpoint, SlowCause::kLink};

}  // namespace

SlowWorld::SlowWorld(Draws& draws)
    : draws_(draws),
      ranks_(static_cast<size_t>(2 + draws.below(kMostRanks - 1))),
      stragglers_(static_cast<int>(ranks_.size())),
      data_s_(0.0005 * draws.below(20)),
      compute_s_(0.02 + 0.01 * draws.below(50)),
      other_s_(0.0005 * draws.below(20)),
      exchange_s_(0.001 * draws.below(20)),
      evaluates_(draws.chance(0.3)),
      saves_alone_(draws.chance(0.2)),
      all_save_(draws.chance(0.2)),
      is_uneven_(draws.chance(0.1)),
      is_busy_(draws.chance(0.3)),
      link_use_(0.01 * draws.below(30)) {
  const bool has_links = draws.chance(0.5);
  for (size_t i = 0; i < ranks_.size(); ++i) {
    Rank& rank = ranks_[i];
    if (has_links) {
      rank.facts.links = {
          {.own = cat("10.0.0.", i), .peer = cat("10.0.0.", (i + 1) % ranks_.size())}};
    }
    rank.facts.times = decide::TimeFacts();
    rank.facts.is_started = true;
    rank.facts.host.starved_s = draws.below(100);
    rank.facts.host.faults = static_cast<uint64_t>(draws.below(1000));
    rank.is_remote = draws.chance(0.3);
    rank.speed = 1 + 0.01 * draws.below(6);
    rank.seen = rank.facts;
  }
  if (!draws.chance(0.6)) return;
  culprit_ = static_cast<size_t>(draws.below(static_cast<int>(ranks_.size())));
  auto cause = kCauses[draws.below(static_cast<int>(std::size(kCauses)))];
  const bool has_third_node = has_links && ranks_.size() > 2;
  if (cause == SlowCause::kLink && !has_third_node) cause = SlowCause::kCompute;
  // What rank 0 does alone, and what has an excuse, is not named.
  if (culprit_ == 0 && (cause == SlowCause::kOther || cause == SlowCause::kCheckpoint))
    culprit_ = 1;
  if (cause == SlowCause::kCheckpoint) all_save_ = !(saves_alone_ = false);
  is_uneven_ = false;
  // Of two ranks that both do something else between steps nobody can say which one is slow.
  if (culprit_ == 0 || (cause == SlowCause::kOther && ranks_.size() == 2)) evaluates_ = false;
  if (culprit_ == 0) saves_alone_ = false;
  cause_ = cause;
  factor_ = 1.5 + 0.1 * draws.below(20);
  if (cause == SlowCause::kStopped) factor_ += 0.5;  // few looks see it
  begun_s_ = draws.below(60);
  ended_s_ = begun_s_ + 40 + draws.below(120);
}

void SlowWorld::live() {
  tell([&] {
    return cause_ ? cat("from ", begun_s_, " to ", ended_s_, " s rank ", culprit_, " takes ",
                        factor_, " × as long: ", cause_name(*cause_))
                  : "no rank is slow";
  });
  const double end_s = (cause_ ? ended_s_ + kLate * 2 : 60.0 + draws_.below(600));
  while (now_s_ < end_s) {
    step();
    for (; seen_s_ < now_s_; seen_s_ += kLook) look();
    const bool is_due = slow_steps_ >= kLeastSteps && now_s_ - begun_s_ >= kLeastS;
    demand(!is_slow() || !is_due || named_s_ >= 0, "a slow rank is not named");
    demand(!cause_ || named_s_ < 0 || has_passed_ || now_s_ < ended_s_ + kLate ||
               slow_steps_ < kLeastSteps,
           "a rank that keeps up again is not said to");
  }
  mark(!cause_ ? "healthy" : named_s_ >= 0 ? cat("named: ", cause_name(*cause_)) : "not named");
}

double SlowWorld::noise() const { return 0.9 + 0.2 * draws_.below(1000) / 1000.0; }

void SlowWorld::step() {
  ++num_steps_;
  double longest_s = 0;
  for (size_t i = 0; i < ranks_.size(); ++i) {
    spend(i);
    longest_s = std::max(longest_s, ranks_[i].own_s);
  }
  const bool is_link_slow = is_slow() && cause_ == SlowCause::kLink;
  const double more_s = is_link_slow ? factor_ * (longest_s + exchange_s_) : 0;
  const double step_s = longest_s + exchange_s_ + more_s;
  const auto num_looks =
      static_cast<int>((now_s_ + step_s) * kLinkLooks) - static_cast<int>(now_s_ * kLinkLooks);
  for (size_t i = 0; i < ranks_.size(); ++i) {
    Rank& rank = ranks_[i];
    const bool is_of_link = i == culprit_ || (i + 1) % ranks_.size() == culprit_;
    const double waits = link_use_ + (is_of_link ? more_s / step_s : 0);
    for (decide::LinkFacts& link : rank.facts.links) {
      link.bytes += 1000;
      link.looks += static_cast<uint64_t>(num_looks);
      for (int look = 0; look < num_looks; ++look) link.waits += draws_.chance(waits) ? 1 : 0;
    }
    rank.facts.times->communication_s += step_s - rank.own_s;
    ++rank.facts.times->steps;
    ++rank.facts.collectives;
    rank.facts.times->batches += is_uneven_ && i + 1 == ranks_.size() ? 2 : 1;
    rank.facts.host.periods = static_cast<uint64_t>(now_s_ * 10);
    if (is_busy_) rank.facts.host.starved_s += step_s * 0.2 * noise();
  }
  if (is_slow()) ++slow_steps_;
  now_s_ += step_s;
}

void SlowWorld::spend(size_t number) {
  Rank& rank = ranks_[number];
  decide::TimeFacts& times = *rank.facts.times;
  const bool has_more = is_uneven_ && number + 1 == ranks_.size();
  const double load = (num_steps_ <= kWarmUp ? 5 + draws_.below(20) : 1) * (has_more ? 2 : 1);
  double data_s = data_s_ * load * noise();
  double compute_s = compute_s_ * load * rank.speed * noise();
  double other_s = other_s_ * load * noise();
  double checkpoint_s = 0;
  if (draws_.chance(0.005)) compute_s += 2 * compute_s_;  // a hiccup
  if (evaluates_ && number == 0 && num_steps_ % 5 == 0) other_s += 4 * compute_s_;
  if (all_save_ || (saves_alone_ && number == 0)) {
    checkpoint_s = compute_s_ * 0.3 * noise();
    times.saved_bytes += 1000;
  }
  rank.stopped_s = 0;
  if (is_slow() && number == culprit_) {
    if (cause_ == SlowCause::kCheckpoint) {
      checkpoint_s += (factor_ - 1) * compute_s_ + 0.002;
    } else {
      trouble(rank, data_s, compute_s, other_s);
    }
  } else {
    rank.facts.host.slowed_by.clear();
    rank.facts.host.cores = 0;
  }
  times.data_s += data_s;
  times.compute_s += compute_s;
  times.checkpoint_s += checkpoint_s;
  times.other_s += other_s;
  rank.own_s = data_s + compute_s + checkpoint_s + other_s;
}

void SlowWorld::trouble(Rank& rank, double& data_s, double& compute_s, double& other_s) {
  const double more_s = (factor_ - 1) * (compute_s_ + data_s_) + 0.3 * exchange_s_;
  decide::HostFacts& host = rank.facts.host;
  if (cause_ == SlowCause::kData) {
    data_s += more_s;
    return;
  }
  if (cause_ == SlowCause::kOther) {
    other_s += more_s;
    return;
  }
  if (cause_ == SlowCause::kLink) return;  // which all ranks wait for
  compute_s += more_s;
  if (cause_ == SlowCause::kThrottled) {
    host.cores = 0.8;
    host.throttled = host.periods / 2 * 2;
  }
  if (cause_ == SlowCause::kDevice) host.slowed_by = "heat";
  if (cause_ == SlowCause::kCores) host.starved_s += more_s * 0.8;
  if (cause_ == SlowCause::kStolen) host.stolen_s += more_s * 0.8;
  if (cause_ == SlowCause::kMemory) host.faults += static_cast<uint64_t>(more_s * 0.8 / 1e-4) + 1;
  if (cause_ == SlowCause::kStopped) rank.stopped_s = more_s;
}

void SlowWorld::look() {
  const bool hears = seen_s_ - heard_s_ >= kHear;
  if (hears) heard_s_ = seen_s_;
  std::vector<decide::RankFacts> shown;
  for (Rank& rank : ranks_) {
    const double step_s = rank.own_s + exchange_s_;
    const bool is_stopped = draws_.chance(std::min(0.9, rank.stopped_s / step_s));
    rank.facts.state = is_stopped ? 'T' : 'R';
    if (!rank.is_remote || hears) rank.seen = rank.facts;
    shown.push_back(rank.seen);
  }
  tell([&] {
    std::string out = cat("at ", seen_s_, " s:");
    for (const decide::RankFacts& each : shown) {
      const decide::TimeFacts& times = *each.times;
      out += cat(" {'", std::string(1, static_cast<char>(each.state)), "', steps ", times.steps,
                 ", data ", times.data_s, ", compute ", times.compute_s, ", collectives ",
                 times.communication_s, ", checkpoint ", times.checkpoint_s, ", other ",
                 times.other_s, ", starved ", each.host.starved_s, "}");
    }
    return out;
  });
  for (const decide::Straggler& found : stragglers_.look(shown)) judge(found);
}

void SlowWorld::judge(const decide::Straggler& found) {
  tell([&] { return cat("rank ", found.rank, " ", cause_name(found.cause), ": ", found.text); });
  demand(!found.text.empty(), "a straggler without a text");
  demand(cause_.has_value(), "a rank of a healthy group is named");
  demand(static_cast<size_t>(found.rank) == culprit_, "another rank is named");
  if (found.has_passed) {
    demand(named_s_ >= 0 && now_s_ > ended_s_, "a slow rank is said to keep up");
    demand(!has_passed_, "a rank is said twice to keep up");
    has_passed_ = true;
    return;
  }
  demand(now_s_ >= begun_s_ && now_s_ < ended_s_ + kLate, "a rank is named that keeps up");
  demand(found.cause == *cause_, "a slow rank is named with another cause");
  demand(named_s_ < 0, "a rank is named twice");
  named_s_ = now_s_;
}

}  // namespace rtrain::sim
