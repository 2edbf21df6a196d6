#include "host/train/report_batch.h"

#include <utility>

namespace rtrain {
namespace {

constexpr std::chrono::milliseconds kSyncDelay{1000};

std::chrono::milliseconds to_ms(double seconds) {
  return std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000));
}

}  // namespace

ReportBatch::ReportBatch(Loop& loop, TaskThread& io, RunRecord& record, OnError on_error)
    : loop_(loop),
      io_(io),
      record_(record),
      on_error_(std::move(on_error)),
      timer_(loop, [this] { flush(); }),
      sync_(loop, [this] {
        io_.post([this] {
          try {
            record_.sync_reports();
          } catch (const Error& e) {
            loop_.post([this, e] { on_error_(e); });
          }
        });
      }) {}

void ReportBatch::add(ReportRow row) {
  rows_.push_back(std::move(row));
  gather();
}

void ReportBatch::add_log(int64_t attempt, int rank, std::string_view bytes) {
  if (logs_.empty() || logs_.back().rank != rank || logs_.back().attempt != attempt) {
    logs_.push_back({attempt, rank, {}});
  }
  logs_.back().text.append(bytes);
  gather();
}

void ReportBatch::gather() {
  if (!writing_ && !timer_.is_active()) timer_.start(to_ms(delay_s_));
}

void ReportBatch::flush() {
  timer_.stop();
  if (rows_.empty() && logs_.empty()) return;
  writing_ = true;
  auto rows = std::exchange(rows_, {});
  auto logs = std::exchange(logs_, {});
  io_.post([this, before_s = delay_s_, rows = std::move(rows), logs = std::move(logs)] {
    double delay_s = before_s;
    std::vector<Error> errors;
    try {
      for (const Log& log : logs) record_.append_log(log.attempt, log.rank, log.text);
      if (!rows.empty()) delay_s = record_.add_reports(rows);
    } catch (const Error& e) {
      errors.push_back(e);
    }
    loop_.post([this, delay_s, errors] {
      writing_ = false;
      delay_s_ = delay_s;
      for (const Error& e : errors) on_error_(e);
      if (!rows_.empty() || !logs_.empty()) gather();
      sync_.start(kSyncDelay);
    });
  });
}

}  // namespace rtrain
