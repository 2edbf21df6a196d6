// host/train/reports/record_writer.h: collects the ranks' reports and output (rows, points,
// annotations, media, log text) and writes them in batches, several times a second.
//
// Belongs to the control thread; writes run on the io thread. A report is visible to other
// processes one gather time (30 ms on a local disk) after it arrived, or some write times after the
// last write if that is later. While the disk is full it waits here with everything after it.
// Errors are handled as those of IoCalls::write().
#pragma once

#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "host/loop/timer.h"
#include "host/train/record/io_calls.h"

namespace rtrain::train {

class RecordWriter {
 public:
  // `on_written`: called when a batch was written or has failed.
  RecordWriter(loop::Loop& loop, IoCalls& io, std::function<void()> on_written);

  void add(Report report);
  void add(store::SeriesChunk chunk);
  void add(store::AnnotationRow row);
  void add(store::MediaRow row);
  // `log`: the file's name without ".log", such as "rank-0".
  void add_log(int64_t attempt, std::string_view log, std::string_view bytes);
  // Passes everything to the io thread now, so that later work there finds it written.
  void flush();
  // Approximate size of what was added and is not written yet.
  size_t unwritten_bytes() const { return gathered_bytes_ + writing_bytes_; }

 private:
  struct Log {
    int64_t attempt;
    std::string name;
    int64_t time_ms;
    std::string text;
  };
  // Records not yet passed to the io thread.
  struct Gathered {
    std::vector<Report> reports;
    std::vector<Log> logs;
    // By rank, key and number: a chunk with more points replaces the earlier one.
    std::map<std::tuple<int64_t, std::string, int64_t>, store::SeriesChunk> chunks;
    std::vector<store::AnnotationRow> annotations;
    std::vector<store::MediaRow> media;

    bool empty() const;
  };
  static store::BatchPace write(RunRecord& record, const Gathered& gathered);
  void gather(size_t bytes);

  IoCalls& io_;
  std::function<void()> on_written_;
  Gathered gathered_;
  size_t gathered_bytes_ = 0;
  size_t writing_bytes_ = 0;
  int writing_ = 0;  // number of batches on the io thread
  store::BatchPace pace_;
  double paused_until_s_ = 0;
  loop::Timer timer_;
  loop::Timer sync_;
};

}  // namespace rtrain::train
