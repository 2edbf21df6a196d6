// host/store/read/curves/report_blocks.h: reads the metrics of rank 0's valid reports, in order, in
// parallel.
//
// For a long run, threads with their own connections read parts ahead and return blocks of plain
// numbers. A live run is read in the caller's thread, in one consistent state of the store.
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
#include "host/store/read/open_store.h"

namespace rtrain::store {

using MetricNames = std::vector<std::string>;

struct ReportBlock {
  // Consecutive reports with the same names in the same order.
  struct Run {
    int32_t names = kOthers;  // a number for ReportBlocks::names
    int32_t num_reports = 0;
  };
  // For reports with values other than numbers, which are kept whole in `others`.
  static constexpr int32_t kOthers = -1;

  std::vector<Run> runs;
  std::vector<double> numbers;  // report by report, in the order of its names
  List others;
};

class ReportBlocks {
 public:
  // The number of threads that speeds up reading on this machine.
  static int usual_threads();

  // Throws like open_run. `max_threads` 0: reads in the caller's thread.
  ReportBlocks(const std::string& storage_path, const std::string& run,
               int max_threads = usual_threads());
  ~ReportBlocks();
  ReportBlocks(const ReportBlocks&) = delete;
  ReportBlocks& operator=(const ReportBlocks&) = delete;

  // The next block, valid until the call after this one; null at the end.
  const ReportBlock* next();
  const MetricNames& names(int32_t number) const;
  // An upper bound of the number of reports.
  uint64_t max_reports() const;

 private:
  // A part as read by a thread, with its own numbers for names.
  struct Part {
    ReportBlock block;
    std::vector<MetricNames> names;
    std::exception_ptr error;
  };
  class PartMaker;

  Part read(Database& database, int64_t number) const;
  void read_ahead();
  Part take();
  void give_common_numbers(Part& part);

  OpenRun run_;
  const std::string storage_path_;
  // May be any number, because another program may have written the store.
  int64_t first_ = 0;
  uint64_t span_ = 0;  // from the first index to the last
  uint64_t part_size_ = 0;
  int64_t num_parts_ = 0;
  int64_t taken_ = 0;
  std::optional<Statement> moment_;
  ReportBlock block_;
  std::vector<MetricNames> names_;
  std::map<MetricNames, int32_t> numbers_of_names_;

  std::mutex mutex_;  // guards everything below
  std::condition_variable changed_;
  std::map<int64_t, Part> read_;
  int64_t begun_ = 0;
  bool is_closed_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace rtrain::store
