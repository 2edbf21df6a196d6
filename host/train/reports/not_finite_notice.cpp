#include "host/train/reports/not_finite_notice.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "host/base/rank_ranges.h"
#include "host/base/text/terminal_text.h"
#include "host/base/text/text.h"

namespace rtrain::train {
namespace {

constexpr std::chrono::milliseconds kPatience{500};

}  // namespace

NotFiniteNotice::NotFiniteNotice(loop::Loop& loop, RunEvents& events, int num_ranks)
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
  std::vector<int64_t> ranks;
  for (const auto& [rank, found] : all) {
    if (found.step == first->second.step) ranks.push_back(rank);
  }
  const message::NotFinite& found = first->second;
  events_.notice_once(
      "not_finite", "warning",
      cat(terminal_line(found.what), " on ", rank_ranges(ranks), found.place.empty() ? "" : ": ",
          terminal_line(found.place), " (FailureConfig.on_nan = 'error' ends the run there)"));
}

}  // namespace rtrain::train
