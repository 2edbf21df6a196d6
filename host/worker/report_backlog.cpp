#include "host/worker/report_backlog.h"

#include <iterator>

#include "host/base/clock.h"
#include "host/base/codec/report.h"
#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/worker/report/controller_lost.h"

namespace rtrain::worker {
namespace {

constexpr size_t kMaxBytesAhead = size_t{8} << 20;
// After this many reports or bytes the controller is asked for an acknowledgement.
constexpr int64_t kAskReports = 256;
constexpr size_t kAskBytes = size_t{1} << 20;

}  // namespace

bool ReportBacklog::has_room(size_t bytes) const {
  if (untaken_.empty()) return true;
  return std::ssize(untaken_) < kMaxReportsAhead && untaken_bytes_ + bytes <= kMaxBytesAhead;
}

void ReportBacklog::add(size_t bytes, int64_t index, double timeout_s) {
  std::unique_lock lock(mutex_);
  const auto may_go = [&] { return closed_ || open_ || has_room(bytes); };
  const auto wait = [&] {
    const WaitScope waits(progress_, WaitKind::kReport, "report()");
    return idle_.wait_for(changed_, lock, to_ms(timeout_s), may_go);
  };
  if (!may_go() && !wait()) {
    throw Error(Code::kTimeout,
                cat("report() number ", index, ": ", untaken_.size(), " reports (",
                    untaken_bytes_ >> 10, " KiB) of this rank wait to be taken for ", timeout_s,
                    " s (timeout_s): another rank makes fewer, the store cannot be written, or "
                    "the run's controller is stopped (SIGSTOP, Ctrl-Z)"));
  }
  if (closed_) throw controller_lost();
  untaken_.push_back(bytes);
  untaken_bytes_ += bytes;
}

bool ReportBacklog::should_ask(size_t bytes) {
  unasked_bytes_ += bytes;
  if (++unasked_reports_ < kAskReports && unasked_bytes_ < kAskBytes) return false;
  unasked_reports_ = 0;
  unasked_bytes_ = 0;
  return true;
}

void ReportBacklog::take(int64_t count) {
  const std::lock_guard lock(mutex_);
  while (taken_ < count && !untaken_.empty()) {
    untaken_bytes_ -= untaken_.front();
    untaken_.pop_front();
    ++taken_;
  }
  changed_.notify_all();
}

void ReportBacklog::open() {
  const std::lock_guard lock(mutex_);
  open_ = true;
  changed_.notify_all();
}

void ReportBacklog::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  changed_.notify_all();
}

}  // namespace rtrain::worker
