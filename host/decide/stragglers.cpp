#include "host/decide/stragglers.h"

#include <algorithm>

namespace rtrain::decide {
namespace {

constexpr size_t kMostCalls = 512;  // of a rank
constexpr size_t kArrivals = 50;    // collectives that are judged together
constexpr double kOften = 0.9;      // the share of them in which a straggler is last
// A shorter delay can come from the machine's other work, or from the difference of two clocks.
constexpr double kLeastBehindS = 0.01;
// A straggler's delay is at least this share of the time from one collective to the next.
constexpr double kLeastShare = 0.2;

}  // namespace

std::optional<Straggler> Stragglers::look(const std::vector<RankFacts>& ranks) {
  if (ranks.size() < 2) return std::nullopt;
  remember(ranks);
  compare();
  auto found = find();
  if (!found || named_[static_cast<size_t>(found->rank)]) return std::nullopt;
  named_[static_cast<size_t>(found->rank)] = true;
  return found;
}

void Stragglers::remember(const std::vector<RankFacts>& ranks) {
  const uint64_t done = arrivals_.empty() ? 0 : arrivals_.back().sequence;
  for (size_t rank = 0; rank < seen_.size(); ++rank) {
    Calls& calls = seen_[rank];
    for (const CollectiveFacts& call : ranks[rank].calls) {
      if (call.sequence > done) calls.emplace(call.sequence, call.time_s);
    }
    while (calls.size() > kMostCalls) calls.erase(calls.begin());
  }
}

void Stragglers::compare() {
  std::vector<uint64_t> compared;
  for (const auto& [sequence, time_s] : seen_.front()) {
    if (auto found = arrival(sequence)) {
      arrivals_.push_back(*found);
      compared.push_back(sequence);
    }
  }
  if (compared.empty()) return;
  for (Calls& calls : seen_) calls.erase(calls.begin(), calls.upper_bound(compared.back()));
  while (arrivals_.size() > kArrivals) arrivals_.pop_front();
}

// Nullopt where the facts of a rank do not show its call.
std::optional<Stragglers::Arrival> Stragglers::arrival(uint64_t sequence) const {
  std::vector<double> times;
  for (const Calls& calls : seen_) {
    const auto call = calls.find(sequence);
    if (call == calls.end()) return std::nullopt;
    times.push_back(call->second);
  }
  const auto last = std::max_element(times.begin(), times.end());
  const Arrival out{sequence, static_cast<int>(last - times.begin()), 0, *last};
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>((times.size() - 1) / 2);
  std::nth_element(times.begin(), middle, times.end());
  return Arrival{out.sequence, out.last, out.time_s - *middle, out.time_s};
}

std::optional<Straggler> Stragglers::find() const {
  if (arrivals_.size() < kArrivals) return std::nullopt;
  Straggler out{.rank = arrivals_.back().last, .of = static_cast<int>(arrivals_.size())};
  for (const Arrival& each : arrivals_) {
    if (each.last != out.rank) continue;
    ++out.last;
    out.behind_s += each.behind_s;
  }
  out.behind_s /= out.last;
  const Arrival& first = arrivals_.front();
  const Arrival& latest = arrivals_.back();
  const double between_s =
      (latest.time_s - first.time_s) / static_cast<double>(latest.sequence - first.sequence);
  const bool is_slow = out.last >= kOften * out.of && out.behind_s >= kLeastBehindS &&
                       out.behind_s >= kLeastShare * between_s;
  return is_slow ? std::optional(out) : std::nullopt;
}

}  // namespace rtrain::decide
