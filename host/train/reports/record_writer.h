// host/train/reports/record_writer.h: gathers the reports and output of the ranks (rows, points,
// annotations, media, log text) and writes it together, a few times a second.
//
// Belongs to the control thread; the writing happens on the io thread. A report is visible to other
// processes one gather time (30 ms on a local disk) after it came, or some write times after the
// last write where that is later; while the disk is full it waits here with all that comes behind
// it. Errors go where IoCalls::write() has them.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "host/loop/timer.h"
#include "host/train/record/io_calls.h"

namespace rtrain {

class RecordWriter {
 public:
  // `on_written`: some of it was written, or has failed.
  RecordWriter(Loop& loop, IoCalls& io, std::function<void()> on_written);

  void add(Report report);
  void add(SeriesChunk chunk);
  void add(AnnotationRow row);
  void add(MediaRow row);
  // `log`: the file's name without ".log", "rank-0".
  void add_log(int64_t attempt, std::string_view log, std::string_view bytes);
  // Hands everything to the io thread now: later work there finds it written.
  void flush();
  // About how much was added and is not written yet.
  size_t unwritten_bytes() const { return gathered_bytes_ + writing_bytes_; }

 private:
  struct Log {
    int64_t attempt;
    std::string name;
    int64_t time_ms;
    std::string text;
  };
  // The records that wait to be written.
  struct Gathered {
    std::vector<Report> reports;
    std::vector<Log> logs;
    // By rank, key and number: a chunk that grows replaces the one before.
    std::map<std::tuple<int64_t, std::string, int64_t>, SeriesChunk> chunks;
    std::vector<AnnotationRow> annotations;
    std::vector<MediaRow> media;

    bool empty() const;
  };
  static BatchPace write(RunRecord& record, const Gathered& gathered);
  void gather(size_t bytes);

  IoCalls& io_;
  std::function<void()> on_written_;
  Gathered gathered_;
  size_t gathered_bytes_ = 0;
  size_t writing_bytes_ = 0;
  int writing_ = 0;  // batches on the io thread
  BatchPace pace_;
  double paused_until_s_ = 0;
  Timer timer_;
  Timer sync_;
};

}  // namespace rtrain
