#include "host/train/reports/record_writer.h"

#include <algorithm>
#include <utility>

#include "host/base/clock.h"
#include "host/train/run/value_size.h"

namespace rtrain::train {
namespace {

constexpr std::chrono::milliseconds kSyncDelay{1000};
// A batch that has that many is passed on at once: a vector that grows further would need the
// memory of twice as many.
constexpr size_t kMostReports = 4096;

}  // namespace

RecordWriter::RecordWriter(loop::Loop& loop, IoCalls& io, std::function<void()> on_written)
    : io_(io),
      on_written_(std::move(on_written)),
      timer_(loop, [this] { flush(); }),
      sync_(loop, [this] { io_.write([](RunRecord& record) { record.sync_reports(); }); }) {}

void RecordWriter::add(Report report) {
  const size_t bytes = sizeof(Report) + approximate_bytes(report.metrics);
  gathered_.reports.push_back(std::move(report));
  gather(bytes);
  if (gathered_.reports.size() == kMostReports) flush();
}

void RecordWriter::add(store::SeriesChunk chunk) {
  const size_t bytes = chunk.data.size();
  std::tuple key(chunk.rank, chunk.key, chunk.number);
  gathered_.chunks.insert_or_assign(std::move(key), std::move(chunk));
  gather(bytes);
}

void RecordWriter::add(store::AnnotationRow row) {
  const size_t bytes = row.text.size();
  gathered_.annotations.push_back(std::move(row));
  gather(bytes);
}

void RecordWriter::add(store::MediaRow row) {
  const size_t bytes = row.data.size();
  gathered_.media.push_back(std::move(row));
  gather(bytes);
}

void RecordWriter::add_log(int64_t attempt, std::string_view log, std::string_view bytes) {
  const int64_t time_ms = now_ms();
  const auto is_last = [&](const Log& each) {
    return each.name == log && each.attempt == attempt && each.time_ms == time_ms;
  };
  if (gathered_.logs.empty() || !is_last(gathered_.logs.back())) {
    gathered_.logs.push_back({attempt, std::string(log), time_ms, {}});
  }
  gathered_.logs.back().text.append(bytes);
  gather(bytes.size());
}

void RecordWriter::gather(size_t bytes) {
  gathered_bytes_ += bytes;
  if (writing_ > 0 || timer_.is_active()) return;
  timer_.start(to_ms(std::max(pace_.gather_s, paused_until_s_ - monotonic_s())));
}

bool RecordWriter::Gathered::empty() const {
  return reports.empty() && logs.empty() && chunks.empty() && annotations.empty() && media.empty();
}

// Runs on the io thread. Returns when to call it next.
store::BatchPace RecordWriter::write(RunRecord& record, const Gathered& gathered) {
  const store::BatchPace pace = record.add_reports(gathered.reports);
  record.add_annotations(gathered.annotations);
  record.add_media(gathered.media);
  std::vector<store::SeriesChunk> chunks;
  for (const auto& [key, chunk] : gathered.chunks) chunks.push_back(chunk);
  record.add_series(chunks);
  for (const Log& log : gathered.logs) {
    record.append_log(log.attempt, log.name, log.text, log.time_ms);
  }
  return pace;
}

void RecordWriter::flush() {
  timer_.stop();
  if (gathered_.empty()) return;
  ++writing_;
  const size_t bytes = std::exchange(gathered_bytes_, 0);
  writing_bytes_ += bytes;
  auto gathered = std::make_shared<Gathered>(std::exchange(gathered_, {}));
  io_.call([gathered](RunRecord& record) { return write(record, *gathered); },
           [this, bytes](const std::optional<store::BatchPace>& pace,
                         const std::optional<Error>& error) {
             --writing_;
             writing_bytes_ -= bytes;
             pace_ = pace.value_or(pace_);
             paused_until_s_ = monotonic_s() + pace_.pause_s;
             if (error) io_.fail(*error);
             on_written_();
             if (!gathered_.empty()) gather(0);
             sync_.start(kSyncDelay);
           });
}

}  // namespace rtrain::train
