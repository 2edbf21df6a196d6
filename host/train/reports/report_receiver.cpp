#include "host/train/reports/report_receiver.h"

#include <algorithm>
#include <utility>

#include "host/base/clock.h"
#include "host/base/text.h"
#include "host/loop/message.h"

namespace rtrain {
namespace {

Upload upload_from_name(const std::string& name) {
  if (name.empty()) return Upload::kNone;
  if (name == "files") return Upload::kRunning;
  if (name == "folder") return Upload::kInFolder;
  throw Error(Code::kArgument, cat("unknown upload '", name, "'"));
}

}  // namespace

ReportReceiver::ReportReceiver(Loop& loop, const Options& options, ReportReceiverDelegate& delegate)
    : options_(options),
      delegate_(delegate),
      collector_(options.world_size, options.first_index, options.notice_s),
      flow_(options.first_index),
      files_(static_cast<size_t>(options.world_size)),
      timer_(loop, [this] { look_at_clock(); }) {}

void ReportReceiver::on_report(int rank, const Value& message) {
  Report report;
  report.rank = rank;
  report.index = message["index"].as_int();
  report.time_ms = message["time"].as_int();
  report.metrics = message["metrics"];
  report.upload = upload_from_name(message["upload"].string_or(""));
  report.folder = message["folder"].string_or("");
  report.directory_name = message["directory_name"].string_or("");
  report.asks_name = message["asks_name"].bool_or(false);
  report.validation = message["validation"];
  report.call_site = message["site"].string_or("");
  report.deadline_s = monotonic_s() + options_.timeout_s;
  if (message["ask"].bool_or(false)) flow_.want(report.index + 1);
  const Report row = report;
  auto progress = collector_.add(std::move(report));
  delegate_.on_report(row);
  answer(std::move(progress));
}

void ReportReceiver::on_files(int rank, const Value& message) {
  List& files = files_.at(static_cast<size_t>(rank));
  for (const Value& file : message["files"].as_list()) files.push_back(file);
}

void ReportReceiver::on_uploaded(int rank, const Value& message) {
  Report outcome;
  outcome.rank = rank;
  outcome.index = message["index"].as_int();
  List files = std::exchange(files_.at(static_cast<size_t>(rank)), {});
  if (message["error"].is_map()) {
    outcome.upload = Upload::kFailed;
    outcome.error = error_from_value(message["error"]);
  } else if (message["folder"].is_string()) {
    outcome.upload = Upload::kInFolder;
    outcome.folder = message["folder"].as_string();
  } else {
    Map staged = message["checkpoint"].as_map();
    staged.set("files", std::move(files));
    outcome.upload = Upload::kStaged;
    outcome.files = std::move(staged);
  }
  answer(collector_.add_upload(std::move(outcome), monotonic_s() + options_.timeout_s));
}

void ReportReceiver::on_returned(int rank) {
  collector_.set_returned(rank);
  look_at_clock();
}

void ReportReceiver::answer(ReportCollector::Progress progress) {
  for (const auto& named : progress.named) {
    delegate_.send(named.rank,
                   Map{{"type", "named"}, {"index", named.index}, {"name", named.name}});
  }
  for (const auto& seal : progress.seals) {
    delegate_.send(seal.rank,
                   Map{{"type", "seal"}, {"index", seal.index}, {"folder", seal.folder}});
  }
  for (auto& reports : progress.complete) delegate_.on_reports_complete(std::move(reports));
  acknowledge();
  look_at_clock();
}

// Waits that cannot come true any more end in their error.
void ReportReceiver::look_at_clock() {
  const double now = monotonic_s();
  const uint64_t copied = delegate_.copied_bytes();
  const auto due = collector_.next_due();
  if (std::exchange(copied_bytes_, copied) != copied || (due && stood_still(*due, now))) {
    collector_.postpone(now + options_.timeout_s);
  }
  for (const auto& stuck : collector_.take_stuck(now)) {
    delegate_.send(stuck.rank, Map{{"type", "reported"},
                                   {"index", stuck.index},
                                   {"error", error_to_value(stuck.error, now)}});
  }
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
    delegate_.send(rank, Map{{"type", "taken"}, {"count", *count}});
  }
}

}  // namespace rtrain
