#include "host/train/reports/report_commits.h"

#include <algorithm>
#include <utility>

#include "host/base/clock.h"
#include "host/base/text/text.h"

namespace rtrain::train {

void ReportCommits::begin_attempt(int attempt, Value metrics) {
  attempt_ = attempt;
  metrics_ = std::move(metrics);
  has_new_checkpoint_ = false;
}

std::optional<int64_t> ReportCommits::first_under_way() const {
  if (under_way_.empty()) return std::nullopt;
  return *under_way_.begin();
}

void ReportCommits::complete(std::vector<Report> reports) {
  metrics_ = reports.front().metrics;
  const Report* failed = decide::failed_upload(reports);
  const bool has_checkpoint =
      std::any_of(reports.begin(), reports.end(), [](const Report& r) { return r.has_checkpoint; });
  if (has_checkpoint && failed == nullptr) return commit(std::move(reports));
  if (failed != nullptr) answer_failed(*failed);
  if (under_way_.empty()) return emit(reports, nullptr);
  // Runs after the commits of earlier reports, so that events come in the order of report numbers.
  io_.call(
      [](RunRecord&) { return true; },
      [this, reports = std::move(reports)](const auto&, const auto&) { emit(reports, nullptr); });
}

// Without one rank's part the checkpoint is incomplete. That rank has its own error already.
void ReportCommits::answer_failed(const Report& failed) {
  const Error error(Code::kPeerLost,
                    cat("report() number ", failed.index, ": rank ", failed.rank,
                        " could not upload its part of the checkpoint: ", failed.error->message()));
  delegate_.send_all(message::Reported{.index = failed.index, .error = error});
}

void ReportCommits::commit(std::vector<Report> reports) {
  const auto under_way = under_way_.insert(reports.front().index);
  writer_.flush();
  io_.call(
      [attempt = attempt_, reports](RunRecord& record) { return record.commit(attempt, reports); },
      [this, under_way, reports](std::optional<CheckpointManager::Committed> committed,
                                 const std::optional<Error>& error) {
        under_way_.erase(under_way);
        end(reports, committed ? &*committed : nullptr, error);
      });
}

void ReportCommits::end(const std::vector<Report>& reports,
                        const CheckpointManager::Committed* committed,
                        const std::optional<Error>& error) {
  const int64_t index = reports.front().index;
  message::Reported answer{.index = index, .error = error};
  Value path;
  if (!error) {
    has_new_checkpoint_ = true;
    answer.path = committed->checkpoint.path;
    path = answer.path;
    for (const std::string& text : committed->warnings) events_.notice("warning", text);
    io_.write(
        [names = committed->dropped](RunRecord& record) { record.checkpoints().drop(names); });
  }
  delegate_.send_all(std::move(answer));
  emit(reports, path);
  delegate_.on_commit_ended(index, error ? nullptr : &committed->checkpoint);
}

void ReportCommits::emit(const std::vector<Report>& reports, const Value& path) {
  List ranks;
  for (const Report& report : reports) ranks.push_back(report.metrics);
  events_.emit_report({{"index", reports.front().index},
                       {"count", ++num_reports_},
                       {"metrics", reports.front().metrics},
                       {"names", metric_names(reports.front().metrics)},
                       {"ranks", std::move(ranks)},
                       {"checkpoint", path}});
}

}  // namespace rtrain::train
