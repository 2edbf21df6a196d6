#include "host/decide/hang_verdict.h"

#include <algorithm>
#include <map>

#include "host/base/text/text.h"

namespace rtrain::decide {
namespace {

using Kind = HangFinding::Kind;

constexpr double kLeastThresholdS = 30;
constexpr double kPauses = 10;
// After a longer step this process was stopped itself: it knows nothing about that time.
constexpr double kLongestStepS = 5;
constexpr double kProofS = 2;
// The share of a core that heartbeats and a library's threads use in a process that does nothing.
constexpr double kIdleShare = 0.1;
// A rank is slow when it waits for the others in less than a tenth of the moments, and each of
// them waits in more than half.
constexpr double kSlowShare = 0.1;
constexpr double kWaiterShare = 0.5;
constexpr int kSlowSamples = 20;
// A process without a heartbeat for this time is stopped, or its node cannot be reached: it is not
// a slow rank.
constexpr double kHeardS = 5;

std::string seconds(double s) { return cat(static_cast<int64_t>(s), " s"); }

std::string where(const std::string& line) { return line.empty() ? "" : cat(" at ", line); }

std::string describe(const RankFacts& rank) {
  if (!rank.wait) return cat("is busy", where(rank.line));
  if (rank.wait->sequence != 0) {
    return cat("waits on its device in ", rank.wait->operation, " (collective ",
               rank.wait->sequence, ")", where(rank.wait->line));
  }
  std::string out = cat("waits in ", rank.wait->operation);
  if (rank.wait->kind == WaitKind::kCollective && !rank.calls.empty()) {
    out += cat(" (collective ", rank.calls.back().sequence, ": ", rank.calls.back().text(), ")");
  }
  return out + where(rank.wait->line);
}

bool takes_part(const RankFacts& rank) { return rank.is_started && !rank.has_returned; }

// Whether a waits for b: for a collective or a report that b has not come to.
bool waits_for(const RankFacts& a, const RankFacts& b) {
  if (!a.wait) return false;
  if (a.wait->sequence != 0) return b.collectives < a.wait->sequence;
  if (needs_peers(a.wait->kind)) return b.collectives < a.collectives;
  return a.wait->kind == WaitKind::kReport && b.reports < a.reports;
}

bool waits_on_device(const RankFacts& rank) { return rank.wait && rank.wait->sequence != 0; }

// The given facts. Where a rank's device waits for another rank, this becomes the rank's wait.
std::vector<RankFacts> with_device_waits(std::vector<RankFacts> ranks) {
  for (RankFacts& rank : ranks) {
    if (!rank.device || (rank.wait && !needs_peers(rank.wait->kind))) continue;
    const uint64_t sequence = rank.device->sequence;
    const bool is_alone = std::any_of(ranks.begin(), ranks.end(), [&](const RankFacts& other) {
      return other.collectives < sequence;
    });
    if (!is_alone) continue;
    WaitFacts wait{WaitKind::kCollective, "all_reduce", rank.device->since_s, "", sequence};
    for (const CollectiveFacts& call : rank.calls) {
      if (call.sequence != sequence) continue;
      wait.operation = call.text();
      wait.line = call.line;
    }
    rank.wait = std::move(wait);
  }
  return ranks;
}

}  // namespace

HangVerdict::HangVerdict(HangLimits limits, int num_ranks)
    : limits_(limits),
      tracks_(static_cast<size_t>(num_ranks)),
      hopeless_(static_cast<size_t>(num_ranks), {-1, 0}) {}

std::vector<HangFinding> HangVerdict::decide(double now_s, const Ranks& given) {
  const Ranks ranks = with_device_waits(given);
  if (last_s_) clock_s_ += std::min(now_s - *last_s_, kLongestStepS);
  last_s_ = now_s;
  findings_.clear();
  follow(ranks);
  find_stopped(ranks);
  find_silent(ranks);
  find_mismatch(ranks);
  find_endless_waits(ranks);
  find_all_waiting(ranks);
  find_quiet(ranks);
  find_slow(ranks);
  return findings_;
}

void HangVerdict::follow(const Ranks& ranks) {
  for (size_t i = 0; i < ranks.size(); ++i) {
    const RankFacts& rank = ranks[i];
    Track& track = tracks_[i];
    if (rank.state != 'T') track.not_stopped_at = clock_s_;
    if (rank.has_returned && !track.returned_at) track.returned_at = clock_s_;
    if (rank.beat_s != track.beat_s) {
      track.beat_s = rank.beat_s;
      track.beat_at = clock_s_;
    }
    ++track.samples;
    if (rank.wait && needs_peers(rank.wait->kind)) ++track.waits;
    if (rank.progress == track.progress && takes_part(rank) && !rank.is_busy) continue;
    if (takes_part(rank) && !rank.is_busy) {
      track.longest_pause_s = std::max(track.longest_pause_s, quiet_s(i));
    }
    track.progress = rank.progress;
    track.moved_at = clock_s_;
    track.cpu_then_s = rank.cpu_s;
    if (!is_exempt(rank)) {
      std::erase_if(named_, [&](const auto& key) {
        return key.second == std::pair(static_cast<int>(i), false);
      });
    }
  }
}

double HangVerdict::threshold_s(size_t rank) const {
  const double wanted = std::max(kPauses * tracks_[rank].longest_pause_s, kLeastThresholdS);
  return std::min(wanted, limits_.threshold_s);
}

bool HangVerdict::is_exempt(const RankFacts& rank) const {
  return rank.is_busy || !takes_part(rank);
}

// Whether it uses no processor time: then its process does not do the work that it waits for.
bool HangVerdict::is_idle(const Ranks& ranks, size_t i) const {
  const double used_s = ranks[i].cpu_s - tracks_[i].cpu_then_s;
  return used_s <= kIdleShare * quiet_s(i);
}

void HangVerdict::find_stopped(const Ranks& ranks) {
  for (size_t i = 0; i < ranks.size(); ++i) {
    const double stopped_s = clock_s_ - tracks_[i].not_stopped_at;
    if (ranks[i].state != 'T' || !takes_part(ranks[i]) || stopped_s < threshold_s(i)) continue;
    add(Kind::kStopped, i, true,
        cat("is stopped (SIGSTOP) for ", seconds(stopped_s), ", it ", describe(ranks[i]),
            waiters(ranks, i)));
  }
}

void HangVerdict::find_silent(const Ranks& ranks) {
  for (size_t i = 0; i < ranks.size(); ++i) {
    const double silent_s = clock_s_ - tracks_[i].beat_at;
    if (!takes_part(ranks[i]) || ranks[i].state == 'T' || silent_s < limits_.silent_s) continue;
    add(Kind::kSilent, i, true,
        cat("has shown no heartbeat for ", seconds(silent_s),
            ": its control thread does not run (RTRAIN_WORKER_HEALTH_CHECK_TIMEOUT_S)"));
  }
}

// Names the first rank of the smallest group that agrees; of equally small ones the higher rank.
void HangVerdict::find_mismatch(const Ranks& ranks) {
  for (const RankFacts& any : ranks) {
    if (any.calls.empty()) continue;
    const uint64_t sequence = any.calls.back().sequence;
    std::map<std::string, std::vector<size_t>> groups;
    std::map<size_t, std::string> lines;
    for (size_t i = 0; i < ranks.size(); ++i) {
      for (const CollectiveFacts& call : ranks[i].calls) {
        if (call.sequence != sequence) continue;
        groups[call.text()].push_back(i);
        lines[i] = call.line;
      }
    }
    if (groups.size() < 2) continue;
    const auto odd =
        std::min_element(groups.begin(), groups.end(), [](const auto& a, const auto& b) {
          return std::pair(a.second.size(), -static_cast<int64_t>(a.second[0])) <
                 std::pair(b.second.size(), -static_cast<int64_t>(b.second[0]));
        });
    std::string others;
    for (const auto& [text, members] : groups) {
      if (text == odd->first) continue;
      others +=
          cat(others.empty() ? "" : ", ", "rank ", members[0], " ", text, where(lines[members[0]]));
    }
    const size_t rank = odd->second[0];
    if (mismatch_ != sequence) {
      mismatch_ = sequence;
      mismatch_at_ = clock_s_;
    }
    // The rank that called second has seen the difference too. Its own error comes first.
    if (clock_s_ - mismatch_at_ < kProofS) return;
    return add(Kind::kMismatch, rank, true,
               cat("calls ", odd->first, where(lines[rank]), " as collective ", sequence, ", but ",
                   others));
  }
}

// Finds a rank i that waits for a message that can never come: the other rank has returned, or
// waits for i itself.
void HangVerdict::find_endless_waits(const Ranks& ranks) {
  for (size_t i = 0; i < ranks.size(); ++i) {
    if (is_exempt(ranks[i]) || !ranks[i].wait) continue;
    if (!waits_on_device(ranks[i]) && !is_idle(ranks, i)) continue;
    for (size_t k = 0; k < ranks.size(); ++k) {
      if (k == i || !waits_for(ranks[i], ranks[k])) continue;
      const bool left = ranks[k].has_returned && needs_peers(ranks[i].wait->kind);
      const bool cycle = !waits_on_device(ranks[i]) && !waits_on_device(ranks[k]) &&
                         takes_part(ranks[k]) && !ranks[k].is_busy &&
                         waits_for(ranks[k], ranks[i]) && is_idle(ranks, k);
      if (!left && !cycle) continue;
      if (!is_stable(i, *ranks[i].wait)) break;
      if (left) {
        add(Kind::kReturned, k, true,
            cat("has returned from the train function after ", ranks[k].collectives,
                " collectives, while rank ", i, " ", describe(ranks[i]),
                ": every rank must call the same collectives"));
      } else {
        add(Kind::kCycle, i, true,
            cat(describe(ranks[i]), ", which needs rank ", k, ", and that one ",
                describe(ranks[k])));
      }
      return;
    }
  }
}

void HangVerdict::find_all_waiting(const Ranks& ranks) {
  std::optional<size_t> odd;
  bool any_for_peers = false;
  for (size_t i = 0; i < ranks.size(); ++i) {
    // A rank that waited for this one may not have continued yet.
    if (ranks[i].has_returned && clock_s_ - *tracks_[i].returned_at < kProofS) return;
    if (ranks[i].has_returned) continue;
    if (is_exempt(ranks[i]) || !ranks[i].wait || waits_on_device(ranks[i])) return;
    if (ranks[i].state == 'T') return;  // find_stopped() names it
    if (quiet_s(i) < threshold_s(i) || !is_idle(ranks, i)) return;
    const WaitKind kind = ranks[i].wait->kind;
    if (!needs_peers(kind) && kind != WaitKind::kReport) return;
    // Ranks that are all in report() wait for the controller's disk.
    any_for_peers = any_for_peers || needs_peers(kind);
    if (!odd || ranks[i].collectives < ranks[*odd].collectives) odd = i;
  }
  if (!odd || !any_for_peers) return;
  add(Kind::kAllWait, *odd, true,
      cat(describe(ranks[*odd]), " for ", seconds(quiet_s(*odd)),
          ", every rank waits and nothing moves", waiters(ranks, *odd)));
}

// Finds a rank that makes no progress and does not wait for another rank.
void HangVerdict::find_quiet(const Ranks& ranks) {
  for (size_t i = 0; i < ranks.size(); ++i) {
    const RankFacts& rank = ranks[i];
    if (is_exempt(rank) || rank.state == 'T' || quiet_s(i) < threshold_s(i)) continue;
    const bool at_own = rank.wait && is_own(rank.wait->kind);
    const bool bounded = rank.wait && rank.wait->kind == WaitKind::kBounded;
    const bool at_peers = rank.wait && !at_own && (waits_on_device(rank) || is_idle(ranks, i));
    if (bounded || at_peers) continue;
    const double limit_s = std::max(limits_.busy_s, kPauses * tracks_[i].longest_pause_s);
    const bool fatal = quiet_s(i) >= limit_s;
    const bool at_data = rank.wait && rank.wait->kind == WaitKind::kData;
    const std::string what =
        at_data ? cat("waits for data in ", rank.wait->operation, where(rank.wait->line))
                : describe(rank);
    add(at_own ? Kind::kData : Kind::kBusy, i, fatal,
        cat(what, " for ", seconds(quiet_s(i)),
            " without a batch, an operator, a collective or a report", waiters(ranks, i),
            fatal ? ""
                  : cat("; it is ended after ", seconds(limit_s),
                        " (busy_threshold_s; "
                        "train.busy(reason, seconds) announces such work)")));
  }
}

void HangVerdict::begin_samples() {
  for (Track& track : tracks_) track.samples = track.waits = 0;
  slow_from_s_ = clock_s_;
}

void HangVerdict::find_slow(const Ranks& ranks) {
  const auto is_unheard = [this](const Track& t) { return clock_s_ - t.beat_at > kHeardS; };
  if (std::ranges::any_of(tracks_, is_unheard)) return begin_samples();
  if (slow_named_ || ranks.size() < 2 ||
      clock_s_ - slow_from_s_ < std::min(kLeastThresholdS, limits_.threshold_s))
    return;
  std::optional<size_t> slow;
  bool others_wait = true;
  for (size_t i = 0; i < ranks.size(); ++i) {
    const Track& track = tracks_[i];
    const double share = static_cast<double>(track.waits) / std::max(1, track.samples);
    if (is_exempt(ranks[i]) || track.samples < kSlowSamples) return;
    if (share < kSlowShare && !slow) {
      slow = i;
    } else if (share < kWaiterShare) {
      others_wait = false;
    }
  }
  std::string table;
  for (size_t i = 0; i < ranks.size(); ++i) {
    const Track& track = tracks_[i];
    table += cat(i == 0 ? "" : ", ", "rank ", i, " ",
                 100 * track.waits / std::max(1, track.samples), " %");
  }
  begin_samples();
  if (!slow || !others_wait || quiet_s(*slow) >= threshold_s(*slow)) return;
  slow_named_ = true;
  add(Kind::kSlow, *slow, false,
      cat("is slower than the others, which wait for it; time spent waiting for other ranks: ",
          table));
}

std::string HangVerdict::waiters(const Ranks& ranks, size_t but) const {
  std::string out;
  for (size_t i = 0; i < ranks.size(); ++i) {
    if (i == but || !takes_part(ranks[i]) || !ranks[i].wait) continue;
    out += cat("; rank ", i, " ", describe(ranks[i]));
    if (out.size() > 400) return out + "; …";
  }
  return out;
}

bool HangVerdict::is_stable(size_t rank, const WaitFacts& wait) {
  auto& [since_s, seen_at] = hopeless_[rank];
  if (since_s != wait.since_s) {
    since_s = wait.since_s;
    seen_at = clock_s_;
  }
  return clock_s_ - seen_at >= kProofS;
}

void HangVerdict::add(Kind kind, size_t rank, bool fatal, std::string text) {
  const std::pair key(static_cast<int>(kind), std::pair(static_cast<int>(rank), fatal));
  if (!named_.insert(key).second) return;
  findings_.push_back({kind, static_cast<int>(rank), fatal, std::move(text)});
}

}  // namespace rtrain::decide
