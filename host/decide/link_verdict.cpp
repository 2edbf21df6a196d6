#include "host/decide/link_verdict.h"

#include <algorithm>

#include "host/base/text/text.h"

namespace rtrain::decide {
namespace {

// Of the last twenty answers, which take four seconds on a good link. A busy network loses one
// packet of a hundred.
constexpr int kSlowAnswers = 5;
constexpr double kSilentS = 5;
// An older report does not count.
constexpr double kFreshS = 3;
// After this time reports on the other links have come too.
constexpr double kSettleS = 1;

}  // namespace

std::vector<std::pair<int, int>> at_fault(FailedLinks failed) {
  std::vector<std::pair<int, int>> out;
  const auto leave_out = [&](int node) {
    const auto is_of = [node](const auto& link) { return link.first == node; };
    const auto found = std::ranges::find_if(failed.links, is_of);
    if (found != failed.links.end()) out.push_back(*found);
    std::erase_if(failed.links,
                  [&](const auto& link) { return is_of(link) || link.second == node; });
  };
  for (const int node : failed.refusing) leave_out(node);
  while (!failed.links.empty()) {
    std::map<int, int> counts;
    for (const auto& [node, peer] : failed.links) ++counts[node];
    std::pair<int, int> worst;  // of equals the later node, so that node 0 needs more
    for (const auto& count : counts) {
      if (count.second >= worst.second) worst = count;
    }
    leave_out(worst.first);
  }
  return out;
}

// A node repeats its report twice a second while nothing comes through. A silence that is shorter
// than the time since the last report is a new one.
void LinkVerdict::add(int node, const SeenLink& link, double now_s) {
  Seen& entry = seen_[{node, link.peer}];
  const bool goes_on =
      entry.silent_since_s > 0 && is_fresh(entry, now_s) && link.silent_s >= now_s - entry.at_s;
  const double since_s = goes_on ? entry.silent_since_s : now_s;
  entry = {.last = link, .at_s = now_s, .silent_since_s = link.silent_s > 0 ? since_s : 0};
}

void LinkVerdict::drop(int node) {
  std::erase_if(seen_, [node](const auto& each) {
    return each.first.first == node || each.first.second == node;
  });
}

bool LinkVerdict::is_fresh(const Seen& seen, double now_s) const {
  return now_s - seen.at_s <= kFreshS;
}

bool LinkVerdict::drops(const Ends& ends, double now_s) const {
  const auto found = seen_.find(ends);
  return found != seen_.end() && is_fresh(found->second, now_s) &&
         found->second.last.num_slow >= kSlowAnswers;
}

bool LinkVerdict::is_silent(const Ends& ends, double now_s) const {
  const auto found = seen_.find(ends);
  return found != seen_.end() && is_fresh(found->second, now_s) &&
         found->second.silent_since_s > 0 && now_s - found->second.silent_since_s >= kSilentS;
}

bool LinkVerdict::is_bad(const Ends& ends, double now_s) const {
  return drops(ends, now_s) ||
         (is_silent(ends, now_s) && is_silent({ends.second, ends.first}, now_s));
}

// A bad link counts 1. Each slow answer adds 0.1, also on a link that is not bad yet.
double LinkVerdict::weight(int node, double now_s) const {
  double out = 0;
  for (const auto& [ends, seen] : seen_) {
    if (ends.first != node && ends.second != node) continue;
    if (!is_fresh(seen, now_s)) continue;
    if (is_bad(ends, now_s)) out += 1;
    out += 0.1 * seen.last.num_slow;
  }
  return out;
}

std::optional<LinkFinding> LinkVerdict::decide(double now_s) {
  const Ends* bad = nullptr;
  for (const auto& [ends, seen] : seen_) {
    if (bad == nullptr && is_bad(ends, now_s)) bad = &ends;
  }
  if (bad == nullptr) {
    bad_since_s_.reset();
    return std::nullopt;
  }
  if (!bad_since_s_) bad_since_s_ = now_s;
  if (now_s - *bad_since_s_ < kSettleS) return std::nullopt;
  const auto [one, other] = *bad;
  const double of_one = weight(one, now_s);
  const double of_other = weight(other, now_s);
  const bool is_one =
      other == 0 || (one != 0 && std::pair(of_one, one) > std::pair(of_other, other));
  LinkFinding out{.node = is_one ? one : other, .peer = is_one ? other : one, .text = {}};
  const SeenLink& last = seen_.at(*bad).last;
  out.text = drops(*bad, now_s)
                 ? cat("drops packets: for ", last.num_slow, " of the last ", last.num_answers,
                       " answers over it some had to be sent again")
                 : cat("lets nothing through for ", static_cast<int>(last.silent_s),
                       " s, though both nodes are there");
  drop(out.node);
  bad_since_s_.reset();
  return out;
}

}  // namespace rtrain::decide
