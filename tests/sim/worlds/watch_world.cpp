#include "tests/sim/worlds/watch_world.h"

#include <algorithm>
#include <set>

#include "host/base/text/text.h"
#include "host/decide/absent_ranks.h"

namespace rtrain::sim {
namespace {

using Kind = decide::HangFinding::Kind;

constexpr int kMostRanks = 4;
constexpr int kMostLooks = 400;
constexpr double kMostWorkS = 20;
constexpr int kMostCollectives = 100;
constexpr size_t kCalls = 8;  // the calls that a rank's facts show
// The longest pause of a working rank: one piece of work and the wait for the slowest rank.
constexpr double kLateWorkS = 60;
constexpr double kLongSleepS = 30;
// The least limit, less the time between two looks.
constexpr double kLeastStoppedS = 24;

}  // namespace

WatchWorld::WatchWorld(Draws& draws)
    : draws_(draws),
      limits_{.threshold_s = 200, .busy_s = 300, .silent_s = 300},
      ranks_(static_cast<size_t>(1 + draws.below(kMostRanks))),
      verdict_(limits_, static_cast<int>(ranks_.size())),
      trouble_(draws.chance(0.7)
                   ? static_cast<Trouble>(draws.below(static_cast<int>(Trouble::kNumber)))
                   : Trouble::kNone),
      uses_device_(draws.chance(0.2)),
      is_quick_(draws.chance(0.3)),
      num_collectives_(
          1 + static_cast<uint64_t>(draws.below(draws.chance(0.3) ? 3 : kMostCollectives))) {
  if (ranks_.size() > 1 && draws.chance(0.3))
    late_ = static_cast<size_t>(draws.below(static_cast<int>(ranks_.size())));
  culprit_ = static_cast<size_t>(draws.below(static_cast<int>(ranks_.size())));
  for (size_t i = 0; i < ranks_.size(); ++i) ranks_[i].work_s = next_work_s(i);
}

void WatchWorld::live() {
  const int num_looks = 1 + draws_.below(kMostLooks);
  const int begin_at = draws_.below(num_looks);
  for (int i = 0; i < num_looks && !is_found_; ++i) {
    if (i == begin_at && trouble_ != Trouble::kNone && !ranks_[culprit_].has_returned) {
      has_begun_ = true;
      begun_s_ = now_s_;
    }
    advance(is_quick_ ? 0.5 : 0.5 + draws_.below(5));
    look();
  }
  if (!is_found_) check_end();
  mark(is_found_ ? "ended for a hang" : has_begun_ ? "not ended" : "nothing went wrong");
  check_absent();
}

double WatchWorld::next_work_s(size_t rank) {
  const double scale = is_quick_ ? 0.05 : 1;
  if (late_ == rank)
    return scale * (kLateWorkS / 2 + draws_.below(static_cast<int>(kLateWorkS / 2)));
  return scale * (0.5 + draws_.below(static_cast<int>(kMostWorkS)) + draws_.below(1000) / 1000.0);
}

void WatchWorld::advance(double seconds) {
  now_s_ += seconds;
  for (size_t rank = 0; rank < ranks_.size(); ++rank) advance_rank(rank, seconds);
  complete();
}

void WatchWorld::advance_rank(size_t number, double seconds) {
  Rank& rank = ranks_[number];
  const bool is_stuck = is_culprit(number) && trouble_ == Trouble::kStopped;
  if (is_stuck || rank.has_returned) return;
  if (!is_culprit(number) || trouble_ != Trouble::kSilent) rank.beat_s = now_s_;
  if (rank.wakes_at_s && now_s_ < *rank.wakes_at_s) return;
  if (rank.wakes_at_s) return wake(number);
  if (rank.waits_since_s >= 0 || rank.reports_since_s) return;
  if (is_culprit(number) && trouble_ == Trouble::kLoops) {
    rank.cpu_s += seconds;
    return;
  }
  const std::set kEnds = {Trouble::kSilent, Trouble::kData, Trouble::kBusy};
  if (is_culprit(number) && kEnds.contains(trouble_)) return;
  rank.cpu_s += seconds;
  rank.work_s -= seconds;
  const bool returns_early = is_culprit(number) && trouble_ == Trouble::kReturns;
  if (!returns_early && rank.work_s > 0) return;
  last_move_s_ = now_s_;
  if (is_culprit(number) && trouble_ == Trouble::kReports) {
    ++rank.reports;
    ++rank.progress;
    rank.reports_since_s = now_s_;
    return;
  }
  if (!returns_early && rank.collectives < num_collectives_) return call(number);
  rank.has_returned = true;
}

void WatchWorld::call(size_t number) {
  Rank& rank = ranks_[number];
  ++rank.collectives;
  ++rank.progress;
  rank.waits_since_s = now_s_;
  const bool differs = is_culprit(number) && trouble_ == Trouble::kMismatch;
  rank.calls.push_back({.sequence = rank.collectives,
                        .operation = differs ? "broadcast" : "all_reduce",
                        .tensors = "float32 [4]",
                        .line = "train.lua:7",
                        .time_s = now_s_ + std::min(rank.work_s, 0.0)});
  if (rank.calls.size() > kCalls) rank.calls.erase(rank.calls.begin());
}

void WatchWorld::complete() {
  const uint64_t sequence = ranks_.front().collectives;
  for (const Rank& rank : ranks_) {
    if (rank.waits_since_s < 0 || rank.collectives != sequence || rank.wakes_at_s) return;
    if (rank.calls.back().operation != ranks_.front().calls.back().operation) return;
  }
  if (has_begun_ && trouble_ == Trouble::kLost) return;
  // A thread may resume late on a busy machine, most of all one that has slept for long.
  for (size_t i = 0; i < ranks_.size(); ++i) {
    const bool has_slept = now_s_ - ranks_[i].waits_since_s >= kLongSleepS;
    if (!draws_.chance(has_slept ? 0.6 : 0.05)) {
      wake(i);
    } else {
      ranks_[i].wakes_at_s = now_s_ + draws_.below(4) * 0.5;
    }
  }
}

void WatchWorld::wake(size_t number) {
  Rank& rank = ranks_[number];
  rank.wakes_at_s.reset();
  rank.waits_since_s = -1;
  ++rank.progress;
  // The return after the last collective takes no time.
  rank.work_s = rank.collectives < num_collectives_ ? next_work_s(number) : 0;
  last_move_s_ = now_s_;
}

decide::RankFacts WatchWorld::facts_of(size_t number) const {
  const Rank& rank = ranks_[number];
  decide::RankFacts out;
  const bool is_stopped = is_culprit(number) && trouble_ == Trouble::kStopped;
  const bool waits = rank.waits_since_s >= 0;
  out.state = is_stopped ? 'T' : waits || rank.reports_since_s ? 'S' : 'R';
  out.cpu_s = rank.cpu_s;
  out.progress = rank.progress;
  out.collectives = rank.collectives;
  out.reports = rank.reports;
  out.beat_s = rank.beat_s;
  out.calls = rank.calls;
  out.is_started = true;
  out.has_returned = rank.has_returned;
  out.is_busy = is_culprit(number) && trouble_ == Trouble::kBusy && !waits;
  if (waits && uses_device_) out.device = decide::DeviceFacts{rank.collectives, rank.waits_since_s};
  if (waits && !uses_device_)
    out.wait =
        decide::WaitFacts{WaitKind::kCollective, "all_reduce", rank.waits_since_s, "train.lua:7"};
  if (rank.reports_since_s)
    out.wait = decide::WaitFacts{WaitKind::kReport, "report", *rank.reports_since_s, "train.lua:9"};
  if (!waits && is_culprit(number) && trouble_ == Trouble::kData)
    out.wait = decide::WaitFacts{WaitKind::kData, "next", begun_s_, "train.lua:3"};
  return out;
}

std::vector<decide::RankFacts> WatchWorld::facts() const {
  std::vector<decide::RankFacts> out;
  for (size_t i = 0; i < ranks_.size(); ++i) out.push_back(facts_of(i));
  return out;
}

void WatchWorld::look() {
  const std::vector<decide::RankFacts> shown = facts();
  tell([&] {
    std::string out = cat("at ", now_s_, " s:");
    for (const decide::RankFacts& rank : shown) {
      out += cat(" {'", std::string(1, static_cast<char>(rank.state)), "', progress ",
                 rank.progress, ", collectives ", rank.collectives, ", cpu ", rank.cpu_s, ", beat ",
                 rank.beat_s, rank.wait ? ", waits" : "", rank.device ? ", device waits" : "",
                 rank.has_returned ? ", returned" : "", rank.is_busy ? ", busy" : "", "}");
    }
    return out;
  });
  for (const decide::HangFinding& finding : verdict_.decide(now_s_, shown)) judge(finding);
}

void WatchWorld::judge(const decide::HangFinding& finding) {
  if (is_found_) return;  // only the first finding counts
  const auto rank = static_cast<size_t>(finding.rank);
  tell([&] { return cat("rank ", rank, finding.fatal ? " fatally " : " ", finding.text); });
  mark(cat(finding.fatal ? "fatal: kind " : "named: kind ", static_cast<int>(finding.kind)));
  demand(rank < ranks_.size() && !finding.text.empty(), "a finding about no rank");
  if (finding.kind == Kind::kSlow) {
    demand(!finding.fatal, "a slow rank is ended");
    demand(ranks_.size() > 1, "a rank is slow that nobody waits for");
    demand(!is_culprit(rank) || trouble_ != Trouble::kBusy,
           "a rank is called slow that has announced its work");
    return;
  }
  if (!finding.fatal) {
    demand(has_begun_ || late_, "a rank is named in a group that works");
    return;
  }
  demand(has_begun_, "a group is ended that works");
  const std::set kOfAll = {Kind::kReturned, Kind::kMismatch, Kind::kCycle, Kind::kAllWait};
  demand(!kOfAll.contains(finding.kind) || now_s_ - last_move_s_ >= 2 || ranks_.size() > 2,
         "a group is ended of which a rank has just moved");
  is_found_ = true;
  switch (trouble_) {
    case Trouble::kStopped:
      demand(now_s_ - begun_s_ >= kLeastStoppedS, "a rank is ended that was stopped for a moment");
      return demand(finding.kind == Kind::kStopped && is_culprit(rank),
                    "a rank that is stopped is taken for something else");
    case Trouble::kSilent:
      return demand(
          (finding.kind == Kind::kSilent || finding.kind == Kind::kBusy) && is_culprit(rank),
          "a rank that is silent is taken for something else");
    case Trouble::kLoops:
      return demand(finding.kind == Kind::kBusy && is_culprit(rank),
                    "a rank that loops is taken for something else");
    case Trouble::kData:
      return demand(finding.kind == Kind::kData && is_culprit(rank),
                    "a rank that waits for data is taken for something else");
    case Trouble::kReturns:
      return demand(finding.kind == Kind::kReturned && is_culprit(rank),
                    "a rank that has returned is taken for something else");
    case Trouble::kMismatch:
      return demand(finding.kind == Kind::kMismatch && (is_culprit(rank) || !has_majority()),
                    "a rank that calls another collective is taken for something else");
    case Trouble::kReports:
      return demand(finding.kind == Kind::kCycle, "a cycle of waits is taken for something else");
    case Trouble::kLost:
      // A device whose data has arrived looks as if it computes.
      return demand(finding.kind == (uses_device_ ? Kind::kBusy : Kind::kAllWait),
                    "a wait of all ranks is taken for another one");
    default:
      return demand(false, "a group is ended for what may still come to an end");
  }
}

// Whether there is a majority against the culprit: more than one other rank has reached its
// collective.
bool WatchWorld::has_majority() const {
  const uint64_t sequence = ranks_[culprit_].collectives;
  return std::ranges::count_if(ranks_,
                               [&](const Rank& rank) { return rank.collectives >= sequence; }) > 2;
}

// Demands that a hang is found in time: most of the limits are 300 s, or ten times the longest
// pause.
void WatchWorld::check_end() {
  const auto is_done = [](const Rank& rank) { return rank.has_returned; };
  if (std::ranges::all_of(ranks_, is_done)) return mark("all have returned");
  if (has_begun_ && trouble_ == Trouble::kBusy) return;
  // This wait has its own deadline, and ends at once when the others have returned.
  const bool is_alone = std::ranges::count_if(ranks_, is_done) + 1 == std::ssize(ranks_);
  const bool is_bounded = is_alone || uses_device_;
  if (has_begun_ && trouble_ == Trouble::kReports && is_bounded) return;
  const double longest_s = std::max(limits_.busy_s, 10 * (kLateWorkS + kMostWorkS));
  demand(now_s_ - std::max(begun_s_, last_move_s_) < longest_s + 20, "a hang is not found");
}

// A rank's time-out must name exactly the ranks of other nodes that are behind it.
void WatchWorld::check_absent() {
  std::vector<decide::PlacedFacts> placed;
  for (size_t i = 0; i < ranks_.size(); ++i)
    placed.push_back({cat("n", draws_.below(2)), facts_of(i)});
  const int own = draws_.below(static_cast<int>(ranks_.size()));
  const bool is_timeout = draws_.chance(0.7);
  const Error error(is_timeout ? Code::kTimeout : Code::kUser, "waited");
  const std::string text = decide::with_absent_ranks(own, error, placed).message();
  const auto at = static_cast<size_t>(own);
  for (size_t i = 0; i < ranks_.size(); ++i) {
    const bool is_far = placed[i].host != placed[at].host;
    const bool is_behind = ranks_[i].collectives < ranks_[at].collectives;
    const bool is_named = text.find(cat("; rank ", i, " on node ")) != std::string::npos;
    demand(is_named == (is_timeout && is_far && is_behind),
           "a rank that is absent is not named, or another one is");
  }
}

}  // namespace rtrain::sim
