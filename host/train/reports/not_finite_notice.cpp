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

std::string alone_text(const std::vector<int64_t>& ranks) {
  return cat(
      ", while the other ranks, which should have the same parameters, had only finite values in "
      "that step: something has changed those of ",
      rank_ranges(ranks), " alone, which FailureConfig.verify_replicas finds at a commit");
}

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
  const bool is_alone =
      found.is_in_replica && all.size() == num_ranks_ && ranks.size() < num_ranks_;
  events_.notice_once(
      "not_finite", "warning",
      cat(terminal_line(found.what), " on ", rank_ranges(ranks), found.place.empty() ? "" : ": ",
          terminal_line(found.place), is_alone ? alone_text(ranks) : "",
          " (FailureConfig.on_nan = 'error' ends the run there)"));
}

}  // namespace rtrain::train
