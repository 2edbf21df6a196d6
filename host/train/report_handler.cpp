#include "host/train/report_handler.h"

#include <algorithm>

#include "host/base/text.h"

namespace rtrain {
namespace {

std::string reports(int64_t count) { return cat(count, count == 1 ? " report" : " reports"); }

}  // namespace

ReportHandler::ReportHandler(int world_size, int64_t first_index)
    : first_index_(first_index),
      counts_(static_cast<size_t>(world_size)),
      returned_(static_cast<size_t>(world_size)) {}

std::optional<std::vector<Report>> ReportHandler::add(Report report) {
  int64_t& count = counts_.at(static_cast<size_t>(report.rank));
  if (report.index != first_index_ + count) {
    throw Error(Code::kArgument, cat("rank ", report.rank, " sent report ", report.index,
                                     ", expected ", first_index_ + count));
  }
  // The worker holds itself back at this distance; a little more may be on its way.
  if (count - *std::min_element(counts_.begin(), counts_.end()) > 2 * kMaxReportsAhead) {
    throw Error(Code::kArgument, cat("rank ", report.rank, " is too many reports ahead"));
  }
  ++count;
  Pending& pending = pending_[report.index];
  pending.reports.resize(counts_.size());
  const int64_t index = report.index;
  const auto rank = static_cast<size_t>(report.rank);
  pending.reports[rank] = std::move(report);
  const bool complete = std::all_of(pending.reports.begin(), pending.reports.end(),
                                    [](const auto& r) { return r.has_value(); });
  if (!complete) return std::nullopt;
  std::vector<Report> out;
  for (auto& r : pending.reports) out.push_back(std::move(*r));
  pending_.erase(index);
  return out;
}

void ReportHandler::set_returned(int rank) { returned_.at(static_cast<size_t>(rank)) = true; }

std::vector<ReportHandler::Stuck> ReportHandler::take_stuck(double now_s) {
  std::vector<Stuck> out;
  for (auto& [index, pending] : pending_) {
    for (auto& report : pending.reports) {
      if (!report || !report->has_checkpoint) continue;
      auto error = hopeless(*report, now_s);
      if (!error) continue;
      report->has_checkpoint = false;  // answered
      out.push_back({report->rank, index, std::move(*error)});
    }
  }
  return out;
}

std::optional<Error> ReportHandler::hopeless(const Report& waiting, double now_s) const {
  const std::string who =
      cat("rank ", waiting.rank, " waits in report() number ", waiting.index, " with a checkpoint");
  std::vector<std::string> behind;
  for (size_t rank = 0; rank < counts_.size(); ++rank) {
    if (first_index_ + counts_[rank] > waiting.index) continue;
    if (returned_[rank]) {
      return Error(
          Code::kUser,
          cat(who, ", but rank ", rank, " has already returned from the train function after ",
              reports(counts_[rank]), ": every rank must call report() the same number of times"));
    }
    behind.push_back(cat(rank, " (", reports(counts_[rank]), ")"));
  }
  if (now_s < waiting.deadline_s) return std::nullopt;
  return Error(Code::kTimeout, cat(who, ", and its deadline (timeout_s) has passed; behind: rank ",
                                   join(behind, ", rank ")));
}

std::optional<double> ReportHandler::next_deadline() const {
  std::optional<double> out;
  for (const auto& [index, pending] : pending_) {
    for (const auto& report : pending.reports) {
      if (!report || !report->has_checkpoint) continue;
      out = std::min(out.value_or(report->deadline_s), report->deadline_s);
    }
  }
  return out;
}

std::string ReportHandler::uneven() const {
  const auto [least, most] = std::minmax_element(counts_.begin(), counts_.end());
  if (*least == *most) return {};
  return cat("the ranks made different numbers of reports: rank ", least - counts_.begin(),
             " made ", *least, ", rank ", most - counts_.begin(), " made ", *most,
             "; reports that not every rank made are kept for the ranks that made them");
}

}  // namespace rtrain
