#include "host/decide/slow/stragglers.h"

#include <algorithm>
#include <utility>

namespace rtrain::decide {
namespace {

constexpr double kSegmentS = 0.5;
constexpr double kLeastSteps = 3;      // of each rank in a segment
constexpr double kShare = 0.15;        // of a step that a straggler costs the others
constexpr double kFewShare = 0.1;      // that one who keeps up may cost them
constexpr double kLeastLostS = 0.002;  // less can come from the machine's other work
constexpr int kMost = 8;               // segments that must agree
constexpr int kStableCause = 10;       // judgements after which a second cause is named
constexpr int64_t kQuiet = 240;        // segments until the same cause is named again
// A fact of the host explains a delay when it makes up this share of it.
constexpr double kExplains = 0.3;
constexpr double kStops = 0.1;           // the same for stops, of which only some are seen
constexpr double kThrottledShare = 0.1;  // of the periods of a limit
constexpr double kFaultS = 1e-4;         // to read a page from a fast disk
constexpr double kMoreBatches = 1.2;

uint64_t passed(uint64_t now, uint64_t before) { return now - std::min(before, now); }

// A script without optimizers has collectives.
bool counts_steps(const std::vector<RankFacts>& facts) {
  return std::ranges::any_of(facts, [](const RankFacts& each) { return each.times->steps > 0; });
}

TimeFacts between(const TimeFacts& before, const TimeFacts& now) {
  return {.steps = passed(now.steps, before.steps),
          .batches = passed(now.batches, before.batches),
          .saved_bytes = passed(now.saved_bytes, before.saved_bytes),
          .data_s = now.data_s - before.data_s,
          .compute_s = now.compute_s - before.compute_s,
          .communication_s = now.communication_s - before.communication_s,
          .checkpoint_s = now.checkpoint_s - before.checkpoint_s,
          .other_s = now.other_s - before.other_s};
}

HostFacts between(const HostFacts& before, const HostFacts& now) {
  return {.starved_s = std::max(0.0, now.starved_s - before.starved_s),
          .stolen_s = std::max(0.0, now.stolen_s - before.stolen_s),
          .cores = now.cores,
          .periods = passed(now.periods, before.periods),
          .throttled = passed(now.throttled, before.throttled),
          .faults = passed(now.faults, before.faults),
          .slowed_by = now.slowed_by};
}

std::vector<LinkFacts> between(const std::vector<LinkFacts>& before,
                               const std::vector<LinkFacts>& now) {
  std::vector<LinkFacts> out;
  for (LinkFacts each : now) {
    const auto known = std::ranges::find_if(before, [&](const LinkFacts& other) {
      return other.own == each.own && other.peer == each.peer;
    });
    if (known != before.end()) {
      each.bytes = passed(each.bytes, known->bytes);
      each.looks = passed(each.looks, known->looks);
      each.waits = passed(each.waits, known->waits);
    }
    out.push_back(std::move(each));
  }
  return out;
}

double saved(const SegmentPart& part) { return static_cast<double>(part.times.saved_bytes); }

// Rank 0 may evaluate, and save checkpoints that no other rank makes. What that takes it longer
// than the others does not count.
void leave_out_alone(Segment& segment) {
  const auto leave_out = [&](double TimeFacts::*time) {
    std::vector<double> others;
    for (size_t i = 1; i < segment.size(); ++i) others.push_back(segment[i].times.*time);
    double& own = segment[0].times.*time;
    const double counts = std::min(own, median(std::move(others)));
    segment[0].alone_s += own - counts;
    own = counts;
  };
  leave_out(&TimeFacts::other_s);
  std::vector<double> saves;
  for (size_t i = 1; i < segment.size(); ++i) saves.push_back(saved(segment[i]));
  if (median(std::move(saves)) <= 0) leave_out(&TimeFacts::checkpoint_s);
}

}  // namespace

std::vector<Straggler> Stragglers::look(const std::vector<RankFacts>& facts) {
  std::vector<Straggler> out;
  if (facts.size() < 2) return out;
  if (!has_begun_ || !goes_on(facts)) {
    begin(facts);
    return out;
  }
  ++looks_;
  for (size_t i = 0; i < facts.size(); ++i) {
    if (facts[i].state == 'T') ++ranks_[i].stopped;
    if (facts[i].device) ++ranks_[i].device_waits;
  }
  if (!is_whole(facts)) return out;
  add_segment(facts);
  if (!segments_.is_full()) return out;
  for (size_t i = 0; i < ranks_.size(); ++i) {
    if (auto found = judge(static_cast<int>(i))) out.push_back(std::move(*found));
  }
  return out;
}

std::vector<double> Stragglers::work_s() const {
  std::vector<double> out;
  if (!segments_.is_full()) return out;
  for (int rank = 0; rank < static_cast<int>(ranks_.size()); ++rank) {
    out.push_back(segments_.own(rank, [](const SegmentPart& part) {
      return ratio(part.times.data_s + part.times.compute_s, part.steps);
    }));
  }
  return out;
}

// All ranks are in their train functions, and in the same ones as before.
bool Stragglers::goes_on(const std::vector<RankFacts>& facts) const {
  for (size_t i = 0; i < facts.size(); ++i) {
    const RankFacts& now = facts[i];
    const RankFacts& begun = ranks_[i].begun;
    if (!now.times || now.has_returned || now.is_busy) return false;
    if (now.times->steps < begun.times->steps || now.collectives < begun.collectives) return false;
    if (now.times->total_s() < begun.times->total_s()) return false;
  }
  return true;
}

void Stragglers::begin(const std::vector<RankFacts>& facts) {
  segments_.clear();
  looks_ = 0;
  has_begun_ = std::ranges::all_of(facts, [](const RankFacts& each) {
    return each.times && !each.has_returned && !each.is_busy;
  });
  for (size_t i = 0; i < facts.size(); ++i) {
    ranks_[i].begun = facts[i];
    ranks_[i].stopped = ranks_[i].device_waits = 0;
  }
}

bool Stragglers::is_whole(const std::vector<RankFacts>& facts) const {
  const bool has_steps = counts_steps(facts);
  for (size_t i = 0; i < facts.size(); ++i) {
    const RankFacts& begun = ranks_[i].begun;
    const uint64_t steps = has_steps ? facts[i].times->steps - begun.times->steps
                                     : facts[i].collectives - begun.collectives;
    const double elapsed_s = facts[i].times->total_s() - begun.times->total_s();
    if (static_cast<double>(steps) < kLeastSteps || elapsed_s < kSegmentS) return false;
  }
  return true;
}

void Stragglers::add_segment(const std::vector<RankFacts>& facts) {
  const bool has_steps = counts_steps(facts);
  Segment segment;
  for (size_t i = 0; i < facts.size(); ++i) {
    Rank& rank = ranks_[i];
    SegmentPart part;
    part.times = between(*rank.begun.times, *facts[i].times);
    part.host = between(rank.begun.host, facts[i].host);
    part.links = between(rank.begun.links, facts[i].links);
    part.steps = static_cast<double>(has_steps ? part.times.steps
                                               : facts[i].collectives - rank.begun.collectives);
    part.elapsed_s = part.times.total_s();
    part.stopped = ratio(rank.stopped, looks_);
    part.device_waits = ratio(rank.device_waits, looks_);
    segment.push_back(std::move(part));
    rank.begun = facts[i];
    rank.stopped = rank.device_waits = 0;
  }
  leave_out_alone(segment);
  looks_ = 0;
  ++num_segments_;
  segments_.add(std::move(segment));
}

std::optional<Straggler> Stragglers::judge(int number) {
  Rank& rank = ranks_[static_cast<size_t>(number)];
  auto found = find(number);
  if (!found) found = find_slow_link(number);
  if (found) {
    rank.judgements = rank.cause == found->cause ? rank.judgements + 1 : 1;
    rank.cause = found->cause;
    return name(number, *found);
  }
  rank.judgements = 0;
  if (!rank.is_slow || !keeps_up(number)) return std::nullopt;
  rank.is_slow = false;
  return Straggler{.rank = number,
                   .cause = rank.cause,
                   .has_passed = true,
                   .text = "keeps up with the others again"};
}

bool Stragglers::keeps_up(int rank) const {
  if (ranks_[static_cast<size_t>(rank)].cause == SlowCause::kLink) {
    const auto use = use_of_links(rank);
    return !use || lost_by_link(*use) < kFewShare;
  }
  return median(segments_.lost(rank)) < kFewShare;
}

std::optional<Straggler> Stragglers::name(int number, const Straggler& found) {
  Rank& rank = ranks_[static_cast<size_t>(number)];
  if (rank.is_slow && rank.judgements < kStableCause) return std::nullopt;
  const auto known = rank.named.find(found.cause);
  if (known != rank.named.end() && (rank.is_slow || num_segments_ - known->second < kQuiet)) {
    return std::nullopt;
  }
  rank.is_slow = true;
  rank.named[found.cause] = num_segments_;
  return found;
}

std::optional<Straggler> Stragglers::find(int rank) const {
  const std::vector<double> shares = segments_.lost(rank);
  const double stops = more(rank, stopped);
  const bool is_slow =
      std::ranges::count_if(shares, [](double each) { return each >= kShare; }) >= kMost;
  if (!is_slow && stops < kShare) return std::nullopt;
  Straggler out{.rank = rank, .share = is_slow ? median(shares) : stops};
  out.lost_s = out.share * segments_.own(rank, step_s);
  if (out.lost_s < kLeastLostS) return std::nullopt;
  const auto where = phase(rank);
  if (stops >= kStops * out.share) {
    out.cause = SlowCause::kStopped;
  } else if (where) {
    out.cause = explain(rank, *where, out);
  } else {
    return std::nullopt;
  }
  out.text = describe(segments_, out, where.value_or(SlowCause::kCompute));
  return out;
}

std::optional<LinkUse> Stragglers::use_of_links(int rank) const {
  std::vector<std::vector<LinkFacts>> sums(ranks_.size());
  for (const Segment& segment : segments_.all()) {
    for (size_t i = 0; i < segment.size(); ++i) add_links(segment[i].links, sums[i]);
  }
  return link_use(sums, static_cast<size_t>(rank));
}

// The share of a step: at most what the rank that waits least for the others is in collectives.
double Stragglers::lost_by_link(const LinkUse& use) const {
  std::vector<double> exchanges;
  for (const Segment& segment : segments_.all()) {
    double least = 1;
    for (const SegmentPart& part : segment) {
      least = std::min(least, ratio(part.times.communication_s, part.elapsed_s));
    }
    exchanges.push_back(least);
  }
  return std::min(use.own - use.others, median(std::move(exchanges)));
}

std::optional<Straggler> Stragglers::find_slow_link(int rank) const {
  const auto use = use_of_links(rank);
  if (!use || !is_slow(*use)) return std::nullopt;
  Straggler out{.rank = rank, .cause = SlowCause::kLink, .share = lost_by_link(*use)};
  out.lost_s = out.share * segments_.own(rank, step_s);
  if (out.share < kShare || out.lost_s < kLeastLostS) return std::nullopt;
  out.text = describe_link(out, use->own, use->others);
  return out;
}

double Stragglers::more(int rank, PartNumber number) const {
  return segments_.mean(rank, number) - segments_.mean_of_others(rank, number);
}

// Where the rank spends the time that the others wait. Nullopt for work that only this rank has.
std::optional<SlowCause> Stragglers::phase(int rank) const {
  const double few = segments_.mean_of_others(rank, batches);
  if (few > 0 && segments_.mean(rank, batches) > kMoreBatches * few) return std::nullopt;
  std::optional<SlowCause> out;
  double most = 0;
  for (const SlowCause each :
       {SlowCause::kCompute, SlowCause::kData, SlowCause::kCheckpoint, SlowCause::kOther}) {
    const double more_s = segments_.more_when_slow(rank, kShare, time_of(each));
    if (more_s <= most) continue;
    most = more_s;
    out = each;
  }
  return !out && segments_.uses_devices() ? SlowCause::kCompute : out;
}

// The cause in the host, if there is one, else the phase.
SlowCause Stragglers::explain(int rank, SlowCause phase, const Straggler& found) const {
  if (more(rank, throttled) >= kThrottledShare) return SlowCause::kThrottled;
  if (phase == SlowCause::kCheckpoint) return phase;
  const bool is_device = segments_.more_when_slow(rank, kShare, slowed) > 0;
  if (phase == SlowCause::kCompute && is_device) return SlowCause::kDevice;
  const double enough = kExplains * found.share;
  if (more(rank, starved) >= enough) return SlowCause::kCores;
  if (more(rank, stolen) >= enough) return SlowCause::kStolen;
  if (more(rank, faults) * kFaultS >= kExplains * found.lost_s) return SlowCause::kMemory;
  return phase;
}

}  // namespace rtrain::decide
