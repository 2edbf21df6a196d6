#include "host/train/reports/report_receiver.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "host/base/clock.h"
#include "host/base/text/text.h"

namespace rtrain::train {
ReportReceiver::ReportReceiver(loop::Loop& loop, const Options& options,
                               ReportReceiverDelegate& delegate)
    : options_(options),
      delegate_(delegate),
      collector_(options.world_size, options.first_index, options.notice_s),
      flow_(options.first_index),
      files_(static_cast<size_t>(options.world_size)),
      timer_(loop, [this] { look_at_clock(); }) {}

void ReportReceiver::on_report(int rank, Report report) {
  if (report.upload > Upload::kInFolder) {
    throw Error(Code::kArgument, cat("rank ", rank, " sent a report whose upload is '",
                                     kNamesOf<Upload>.at(static_cast<size_t>(report.upload)), "'"));
  }
  report.rank = rank;
  report.deadline_s = monotonic_s() + options_.timeout_s;
  if (report.asks_progress) flow_.want(report.index + 1);
  Report row = report;
  auto progress = collector_.add(std::move(report));
  delegate_.on_report(std::move(row));
  answer(std::move(progress));
}

void ReportReceiver::on_files(int rank, message::Files sent) {
  auto& files = files_.at(static_cast<size_t>(rank));
  std::ranges::move(sent.files, std::back_inserter(files));
}

void ReportReceiver::on_uploaded(int rank, message::Uploaded sent) {
  Report outcome;
  outcome.rank = rank;
  outcome.index = sent.index;
  auto files = std::exchange(files_.at(static_cast<size_t>(rank)), {});
  if (sent.error) {
    outcome.upload = Upload::kFailed;
    outcome.error = std::move(sent.error);
  } else if (!sent.folder.empty()) {
    outcome.upload = Upload::kInFolder;
    outcome.folder = std::move(sent.folder);
  } else if (sent.checkpoint) {
    outcome.upload = Upload::kStaged;
    sent.checkpoint->files = std::move(files);
    outcome.staged = std::move(sent.checkpoint);
  } else {
    throw Error(Code::kArgument, cat("rank ", rank, " sent no checkpoint of report ", sent.index));
  }
  answer(collector_.add_upload(std::move(outcome), monotonic_s() + options_.timeout_s));
}

void ReportReceiver::on_returned(int rank) {
  collector_.set_returned(rank);
  look_at_clock();
}

void ReportReceiver::close_below(int64_t index) {
  timer_.stop();
  for (auto& reports : collector_.take_below(index)) {
    if (std::ranges::any_of(reports, &Report::has_checkpoint)) {
      delegate_.warn(cat("report ", reports.front().index,
                         " has no checkpoint: a rank was lost before its part was there"));
    }
    for (Report& report : reports) report.has_checkpoint = false;
    delegate_.on_reports_complete(std::move(reports));
  }
}

void ReportReceiver::answer(decide::ReportCollector::Progress progress) {
  for (const auto& named : progress.named) {
    delegate_.send(named.rank, message::Named{.index = named.index, .name = named.name});
  }
  for (const auto& seal : progress.seals) {
    delegate_.send(seal.rank, message::Seal{.index = seal.index, .folder = seal.folder});
  }
  for (auto& reports : progress.complete) delegate_.on_reports_complete(std::move(reports));
  acknowledge();
  look_at_clock();
}

// Answers waits whose deadline has passed with their error.
void ReportReceiver::look_at_clock() {
  const auto due = collector_.next_due();
  if (!due) return timer_.stop();  // no report waits
  const double now = monotonic_s();
  const uint64_t copied = delegate_.copied_bytes();
  if (std::exchange(copied_bytes_, copied) != copied || stood_still(*due, now)) {
    collector_.postpone(now + options_.timeout_s);
  }
  decide::ReportCollector::Progress progress = collector_.take_stuck(now);
  for (const auto& stuck : progress.stuck) {
    delegate_.send(stuck.rank, message::Reported{.index = stuck.index, .error = stuck.error});
  }
  for (auto& reports : progress.complete) delegate_.on_reports_complete(std::move(reports));
  if (const auto text = collector_.take_notice(now)) delegate_.warn(*text);
  const auto next = collector_.next_due();
  if (!next) return timer_.stop();
  const double wait_s = std::max(0.0, *next - now);
  timer_.start(to_ms(wait_s + 0.001));
}

void ReportReceiver::acknowledge() {
  const auto count =
      flow_.take(collector_.least(), delegate_.unwritten_bytes(), collector_.num_pending());
  if (!count) return;
  for (int rank = 0; rank < options_.world_size; ++rank) {
    delegate_.send(rank, message::Acknowledged{.count = *count});
  }
}

}  // namespace rtrain::train
