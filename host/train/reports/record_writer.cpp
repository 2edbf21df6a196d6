#include "host/train/reports/record_writer.h"

#include <utility>

#include "host/base/clock.h"
#include "host/train/reports/value_size.h"

namespace rtrain {
namespace {

constexpr std::chrono::milliseconds kSyncDelay{1000};

}  // namespace

RecordWriter::RecordWriter(Loop& loop, TaskThread& io, RunRecord& record, Callbacks callbacks)
    : loop_(loop),
      io_(io),
      record_(record),
      callbacks_(std::move(callbacks)),
      timer_(loop, [this] { flush(); }),
      sync_(loop, [this] {
        io_.post([this] {
          try {
            record_.sync_reports();
          } catch (const Error& e) {
            loop_.post([this, e] { callbacks_.on_error(e); });
          }
        });
      }) {}

void RecordWriter::add(ReportRow row) {
  const size_t bytes = approximate_bytes(row.metrics);
  gathered_.rows.push_back(std::move(row));
  gather(bytes);
}

void RecordWriter::add(SeriesChunk chunk) {
  const size_t bytes = chunk.data.size();
  std::tuple key(chunk.rank, chunk.key, chunk.number);
  gathered_.chunks.insert_or_assign(std::move(key), std::move(chunk));
  gather(bytes);
}

void RecordWriter::add(AnnotationRow row) {
  const size_t bytes = row.text.size();
  gathered_.annotations.push_back(std::move(row));
  gather(bytes);
}

void RecordWriter::add_log(int64_t attempt, std::string_view log, std::string_view bytes) {
  if (gathered_.logs.empty() || gathered_.logs.back().name != log ||
      gathered_.logs.back().attempt != attempt) {
    gathered_.logs.push_back({attempt, std::string(log), {}});
  }
  gathered_.logs.back().text.append(bytes);
  gather(bytes.size());
}

void RecordWriter::gather(size_t bytes) {
  gathered_bytes_ += bytes;
  if (writing_ == 0 && !timer_.is_active()) timer_.start(to_ms(delay_s_));
}

bool RecordWriter::Gathered::empty() const {
  return rows.empty() && logs.empty() && chunks.empty() && annotations.empty();
}

// On the io thread. Returns how long to gather before the next call.
double RecordWriter::write(const Gathered& gathered) {
  const double delay_s = record_.add_reports(gathered.rows);
  record_.add_annotations(gathered.annotations);
  std::vector<SeriesChunk> chunks;
  for (const auto& [key, chunk] : gathered.chunks) chunks.push_back(chunk);
  record_.add_series(chunks);
  for (const Log& log : gathered.logs) record_.append_log(log.attempt, log.name, log.text);
  return delay_s;
}

void RecordWriter::flush() {
  timer_.stop();
  if (gathered_.empty()) return;
  ++writing_;
  const size_t bytes = std::exchange(gathered_bytes_, 0);
  writing_bytes_ += bytes;
  auto gathered = std::make_shared<Gathered>(std::exchange(gathered_, {}));
  io_.post([this, bytes, before_s = delay_s_, gathered] {
    double delay_s = before_s;
    std::optional<Error> error;
    try {
      delay_s = write(*gathered);
    } catch (const Error& e) {
      error = e;
    }
    loop_.post([this, bytes, delay_s, error] {
      --writing_;
      writing_bytes_ -= bytes;
      delay_s_ = delay_s;
      if (error) callbacks_.on_error(*error);
      callbacks_.on_written();
      if (!gathered_.empty()) gather(0);
      sync_.start(kSyncDelay);
    });
  });
}

}  // namespace rtrain
