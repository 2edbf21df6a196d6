#include "host/decide/report_collector.h"

#include <algorithm>

#include "host/base/text/text.h"

namespace rtrain::decide {
namespace {

std::string reports(int64_t count) { return cat(count, count == 1 ? " report" : " reports"); }

bool is_waiting(const std::optional<Report>& report) {
  return report && report->upload != Upload::kNone && report->upload != Upload::kFailed;
}

}  // namespace

const Report* failed_upload(const std::vector<Report>& reports) {
  for (const Report& report : reports) {
    if (report.upload == Upload::kFailed) return &report;
  }
  return nullptr;
}

ReportCollector::ReportCollector(int world_size, int64_t first_index, double notice_s)
    : first_index_(first_index),
      notice_s_(notice_s),
      counts_(static_cast<size_t>(world_size)),
      num_least_(counts_.size()),
      returned_(static_cast<size_t>(world_size)),
      sites_(static_cast<size_t>(world_size)) {}

void ReportCollector::check_index(const Report& report) const {
  const int64_t count = counts_.at(static_cast<size_t>(report.rank));
  if (report.index != first_index_ + count) {
    throw Error(Code::kArgument, cat("rank ", report.rank, " sent report ", report.index,
                                     ", expected ", first_index_ + count));
  }
  // A worker stops at kMaxReportsAhead; some more reports may be on their way.
  if (report.index - least() > 2 * kMaxReportsAhead) {
    throw Error(Code::kArgument, cat("rank ", report.rank, " is too many reports ahead"));
  }
}

// A report that a rank makes for all ranks: no other rank has made one of this number.
ReportCollector::Progress ReportCollector::add_for_all(Report report) {
  if (report.upload != Upload::kNone) {
    throw Error(Code::kArgument, cat("report ", report.index, " for all ranks has a checkpoint"));
  }
  for (size_t rank = 0; rank < counts_.size(); ++rank) {
    if (counts_[rank] == counts_[static_cast<size_t>(report.rank)]) continue;
    throw Error(Code::kArgument, cat("report ", report.index, " for all ranks, but rank ", rank,
                                     " has made ", reports(counts_[rank]), " of its own"));
  }
  for (size_t rank = 0; rank < counts_.size(); ++rank) count(rank);
  pending_[report.index].reports.emplace_back(std::move(report));
  Progress progress;
  take_complete(progress);
  return progress;
}

// Looks at all ranks only when the lowest count rises: there may be a thousand ranks and reports.
void ReportCollector::count(size_t rank) {
  if (counts_[rank]++ != least_count_ || --num_least_ > 0) return;
  least_count_ = *std::min_element(counts_.begin(), counts_.end());
  num_least_ = static_cast<size_t>(std::count(counts_.begin(), counts_.end(), least_count_));
}

ReportCollector::Progress ReportCollector::add(Report report) {
  check_index(report);
  if (report.is_for_all) return add_for_all(std::move(report));
  const auto rank = static_cast<size_t>(report.rank);
  count(rank);
  if (!report.call_site.empty()) sites_[rank] = report.call_site;
  report.has_checkpoint = report.upload != Upload::kNone;
  const auto [found, is_new] = pending_.try_emplace(report.index);
  Pending& pending = found->second;
  if (is_new) {
    pending.reports.resize(counts_.size());
    pending.num_missing = counts_.size();
  }
  --pending.num_missing;
  if (report.has_checkpoint) uploads_.insert(report.index);
  const bool may_name = rank == 0 || report.asks_name;
  pending.reports[rank] = std::move(report);
  Progress progress;
  if (may_name) add_names(pending, progress);
  add_seals(pending, progress);
  take_complete(progress);
  return progress;
}

ReportCollector::Progress ReportCollector::add_upload(Report outcome, double deadline_s) {
  if (given_up_.erase({outcome.rank, outcome.index}) > 0) return {};
  const auto found = pending_.find(outcome.index);
  const auto rank = static_cast<size_t>(outcome.rank);
  const bool known = found != pending_.end() && rank < found->second.reports.size() &&
                     found->second.reports[rank].has_value();
  if (!known) {
    throw Error(Code::kArgument, cat("rank ", outcome.rank, " sent files of report ", outcome.index,
                                     ", which it has not made"));
  }
  Pending& pending = found->second;
  Report& report = *pending.reports[rank];
  Progress progress;
  if (report.upload != Upload::kRunning) {
    throw Error(Code::kArgument,
                cat("rank ", outcome.rank, " sent files of report ", outcome.index, " twice"));
  }
  report.upload = outcome.upload;
  report.staged = std::move(outcome.staged);
  report.folder = std::move(outcome.folder);
  report.error = std::move(outcome.error);
  for (auto& waiting : pending.reports) {
    if (waiting) waiting->deadline_s = deadline_s;
  }
  add_seals(pending, progress);
  take_complete(progress);
  return progress;
}

// The agreed name is rank 0's, or the asking rank's where rank 0 gives none.
void ReportCollector::add_names(Pending& pending, Progress& progress) const {
  const auto& first = pending.reports.front();
  if (!first) return;
  for (auto& report : pending.reports) {
    if (!report || !report->asks_name) continue;
    report->asks_name = false;
    const std::string& name =
        first->directory_name.empty() ? report->directory_name : first->directory_name;
    progress.named.push_back({report->rank, report->index, name});
  }
}

// Waits until all ranks have made the report: until then a rank may still write into the folder.
void ReportCollector::add_seals(Pending& pending, Progress& progress) const {
  if (pending.num_missing > 0) return;
  for (const auto& report : pending.reports) {
    if (report->upload == Upload::kRunning) return;
  }
  std::map<std::string, int> owners;
  for (auto& report : pending.reports) {
    if (report->upload != Upload::kInFolder) continue;
    const bool is_first = owners.emplace(report->folder, report->rank).second;
    report->upload = is_first ? Upload::kRunning : Upload::kShared;
    if (is_first) progress.seals.push_back({report->rank, report->index, report->folder});
  }
}

void ReportCollector::take_complete(Progress& progress) {
  while (!pending_.empty()) {
    auto& [index, pending] = *pending_.begin();
    if (pending.num_missing > 0) return;
    for (const auto& report : pending.reports) {
      if (report->upload == Upload::kRunning || report->upload == Upload::kInFolder) return;
    }
    std::vector<Report> out;
    for (auto& report : pending.reports) {
      report->has_checkpoint = report->upload == Upload::kStaged;
      out.push_back(std::move(*report));
    }
    progress.complete.push_back(std::move(out));
    uploads_.erase(index);
    pending_.erase(pending_.begin());
  }
}

std::vector<std::vector<Report>> ReportCollector::take_below(int64_t index) {
  std::vector<std::vector<Report>> out;
  while (!pending_.empty() && pending_.begin()->first < index) {
    auto& reports = out.emplace_back();
    for (auto& report : pending_.begin()->second.reports) {
      if (!report) continue;
      report->upload = Upload::kNone;
      reports.push_back(std::move(*report));
    }
    uploads_.erase(pending_.begin()->first);
    pending_.erase(pending_.begin());
  }
  return out;
}

void ReportCollector::set_returned(int rank) { returned_.at(static_cast<size_t>(rank)) = true; }

void ReportCollector::postpone(double deadline_s) {
  for (const int64_t index : uploads_) {
    for (auto& report : pending_.at(index).reports) {
      if (report) report->deadline_s = deadline_s;
    }
  }
}

ReportCollector::Progress ReportCollector::take_stuck(double now_s) {
  Progress progress;
  for (const int64_t index : uploads_) {
    for (auto& report : pending_.at(index).reports) {
      if (!is_waiting(report)) continue;
      auto error = hopeless(*report, now_s);
      if (!error) continue;
      if (report->upload == Upload::kRunning) given_up_.emplace(report->rank, index);
      report->upload = Upload::kFailed;  // the other ranks' shards are not a whole checkpoint
      report->error = *error;
      progress.stuck.push_back({report->rank, index, std::move(*error)});
    }
  }
  if (!progress.stuck.empty()) take_complete(progress);
  return progress;
}

std::string ReportCollector::site(int rank) const {
  const std::string& site = sites_[static_cast<size_t>(rank)];
  return site.empty() ? "" : cat(" at ", site);
}

std::optional<Error> ReportCollector::hopeless(const Report& waiting, double now_s) const {
  const std::string who = cat("rank ", waiting.rank, " waits in report() number ", waiting.index,
                              site(waiting.rank), " with a checkpoint");
  for (size_t i = 0; i < counts_.size(); ++i) {
    if (first_index_ + counts_[i] > waiting.index || !returned_[i]) continue;
    const std::string last = counts_[i] > 0 ? cat(", the last", site(static_cast<int>(i))) : "";
    return Error(
        Code::kUser,
        cat(who, ", but rank ", i, " has already returned from the train function after ",
            reports(counts_[i]), last, ": every rank must call report() the same number of times"));
  }
  if (now_s < waiting.deadline_s) return std::nullopt;
  const std::string missing = behind(waiting.index);
  return Error(Code::kTimeout, cat(who, ", and its deadline (timeout_s) has passed; ",
                                   missing.empty() ? uploading(waiting.index) : missing));
}

// "behind: rank 1 (3 reports, the last at train.lua:12)"
std::string ReportCollector::behind(int64_t index) const {
  std::vector<std::string> parts;
  for (size_t i = 0; i < counts_.size(); ++i) {
    if (first_index_ + counts_[i] > index) continue;
    const std::string last = site(static_cast<int>(i));
    parts.push_back(cat("rank ", i, " (", reports(counts_[i]),
                        counts_[i] > 0 && !last.empty() ? cat(", the last", last) : "", ")"));
  }
  return parts.empty() ? "" : cat("behind: ", join(parts, ", "));
}

std::string ReportCollector::uploading(int64_t index) const {
  std::vector<std::string> parts;
  for (const auto& report : pending_.at(index).reports) {
    if (report && report->upload == Upload::kRunning) parts.push_back(cat("rank ", report->rank));
  }
  if (parts.empty()) return "an earlier checkpoint is not complete";
  return cat("not yet staged: the files of ", join(parts, ", "));
}

std::optional<std::string> ReportCollector::take_notice(double now_s) {
  for (const int64_t index : uploads_) {
    Pending& pending = pending_.at(index);
    const auto waits = std::find_if(pending.reports.begin(), pending.reports.end(), is_waiting);
    if (waits == pending.reports.end()) continue;
    auto& due = pending.notice_due_s;
    if (!due) due = now_s + notice_s_;
    if (*due > now_s) return std::nullopt;
    due = now_s + notice_s_;
    const std::string missing = behind(index);
    return cat("the checkpoint of report ", index, " waits since ", notice_s_, " s or more; ",
               missing.empty() ? uploading(index) : missing);
  }
  return std::nullopt;
}

std::optional<double> ReportCollector::next_due() const {
  std::optional<double> out;
  for (const int64_t index : uploads_) {
    const Pending& pending = pending_.at(index);
    for (const auto& report : pending.reports) {
      if (!is_waiting(report)) continue;
      out = std::min(out.value_or(report->deadline_s), report->deadline_s);
      if (pending.notice_due_s) out = std::min(*out, *pending.notice_due_s);
    }
  }
  return out;
}

int64_t ReportCollector::complete_below() const {
  std::optional<int64_t> fewest;
  for (size_t rank = 0; rank < counts_.size(); ++rank) {
    if (!returned_[rank]) fewest = std::min(fewest.value_or(counts_[rank]), counts_[rank]);
  }
  const int64_t made =
      first_index_ + fewest.value_or(*std::max_element(counts_.begin(), counts_.end()));
  return uploads_.empty() ? made : std::min(made, *uploads_.begin());
}

std::string ReportCollector::slowest() const {
  const int64_t fewest = least() - first_index_;
  std::vector<std::string> names;
  for (size_t rank = 0; rank < counts_.size(); ++rank) {
    if (counts_[rank] == fewest) names.push_back(cat("rank ", rank, " (", reports(fewest), ")"));
  }
  return join(names, ", ");
}

std::string ReportCollector::uneven() const {
  const auto [least, most] = std::minmax_element(counts_.begin(), counts_.end());
  if (*least == *most) return {};
  const std::string last = site(static_cast<int>(most - counts_.begin()));
  return cat("the ranks made different numbers of reports: rank ", least - counts_.begin(),
             " made ", *least, ", rank ", most - counts_.begin(), " made ", *most,
             last.empty() ? "" : ", the last one", last,
             "; reports that not every rank made are kept for the ranks that made them (metrics "
             "--ranks), and give no result: call train.report on every rank");
}

}  // namespace rtrain::decide
