// host/store/read/report_blocks.h: the metrics of all reports of rank 0 that count, in their order,
// as fast as the cores read them.
//
// Threads with connections of their own read parts of a long run ahead, and leave blocks of bare
// numbers. Of a run that goes on all is read in the caller's thread, as the store is at one moment.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "host/base/value.h"
#include "host/store/read/run_reader.h"

namespace rtrain {

using MetricNames = std::vector<std::string>;

struct ReportBlock {
  // Reports that follow each other and have the same names in the same order.
  struct Run {
    int32_t names = kOthers;  // a number for ReportBlocks::names
    int32_t num_reports = 0;
  };
  // Reports with other values than numbers: whole, in `others`.
  static constexpr int32_t kOthers = -1;

  std::vector<Run> runs;
  std::vector<double> numbers;  // of one report after the other, in the order of its names
  List others;
};

class ReportBlocks {
 public:
  // As many threads as help on this machine.
  static int usual_threads();

  // Throws as RunReader::open_run. `max_threads` 0: reads in the caller's thread.
  ReportBlocks(const std::string& storage_path, const std::string& run,
               int max_threads = usual_threads());
  ~ReportBlocks();
  ReportBlocks(const ReportBlocks&) = delete;
  ReportBlocks& operator=(const ReportBlocks&) = delete;

  // The next block, until the call after this one; null at the end.
  const ReportBlock* next();
  const MetricNames& names(int32_t number) const;
  // No more reports than that come.
  uint64_t max_reports() const;

 private:
  // As a thread reads it: names are numbers of its own.
  struct Part {
    ReportBlock block;
    std::vector<MetricNames> names;
    std::exception_ptr error;
  };
  class PartMaker;

  Part read(RunReader& reader, int64_t number) const;
  void read_ahead();
  Part take();
  void give_common_numbers(Part& part);

  OpenRun run_;
  const std::string storage_path_;
  // A store that somebody else has made may have any indices.
  int64_t first_ = 0;
  uint64_t span_ = 0;  // from the first index to the last one
  uint64_t part_size_ = 0;
  int64_t num_parts_ = 0;
  int64_t taken_ = 0;
  std::optional<Statement> moment_;
  ReportBlock block_;
  std::vector<MetricNames> names_;
  std::map<MetricNames, int32_t> numbers_of_names_;

  std::mutex mutex_;  // for all below
  std::condition_variable changed_;
  std::map<int64_t, Part> read_;
  int64_t begun_ = 0;
  bool is_closed_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace rtrain
