#include "host/train/reports/not_finite_notice.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "host/base/text.h"

namespace rtrain {
namespace {

constexpr std::chrono::milliseconds kPatience{500};

// "rank 1", "ranks 0-2, 5"; they are sorted.
std::string rank_ranges(const std::vector<int>& ranks) {
  std::vector<std::string> parts;
  for (size_t i = 0; i < ranks.size();) {
    size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    parts.push_back(last == i ? cat(ranks[i]) : cat(ranks[i], "-", ranks[last]));
    i = last + 1;
  }
  return cat(ranks.size() == 1 ? "rank " : "ranks ", join(parts, ", "));
}

}  // namespace

NotFiniteNotice::NotFiniteNotice(Loop& loop, RunEvents& events, int num_ranks)
    : events_(events),
      num_ranks_(static_cast<size_t>(num_ranks)),
      patience_(loop, [this] { tell(); }) {}

void NotFiniteNotice::add(int rank, message::NotFinite found) {
  found_.insert({rank, std::move(found)});
  if (found_.size() == num_ranks_) return tell();
  if (!patience_.is_active()) patience_.start(kPatience);
}

void NotFiniteNotice::tell() {
  patience_.stop();
  const auto all = std::exchange(found_, {});
  if (all.empty()) return;
  const auto first =
      std::ranges::min_element(all, {}, [](const auto& each) { return each.second.step; });
  std::vector<int> ranks;
  for (const auto& [rank, found] : all) {
    if (found.step == first->second.step) ranks.push_back(rank);
  }
  const message::NotFinite& found = first->second;
  events_.notice_once("not_finite", "warning",
                      cat(found.what, " on ", rank_ranges(ranks), found.place.empty() ? "" : ": ",
                          found.place, " (FailureConfig.on_nan = 'error' ends the run there)"));
}

}  // namespace rtrain
