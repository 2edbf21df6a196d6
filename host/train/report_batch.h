// host/train/report_batch.h: gathers report rows and log text and writes them together, a few times
// a second.
//
// Belongs to the control thread; the writing happens on the io thread. A report is visible to other
// processes one gather time (30 ms on a local disk) after it came, at most.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "host/loop/task_thread.h"
#include "host/loop/timer.h"
#include "host/train/run_record.h"

namespace rtrain {

class ReportBatch {
 public:
  using OnError = std::function<void(const Error& error)>;

  ReportBatch(Loop& loop, TaskThread& io, RunRecord& record, OnError on_error);

  void add(ReportRow row);
  void add_log(int64_t attempt, int rank, std::string_view bytes);
  // Hands everything to the io thread now: later work there finds it written.
  void flush();

 private:
  struct Log {
    int64_t attempt;
    int rank;
    std::string text;
  };
  void gather();

  Loop& loop_;
  TaskThread& io_;
  RunRecord& record_;
  OnError on_error_;
  std::vector<ReportRow> rows_;
  std::vector<Log> logs_;
  bool writing_ = false;
  double delay_s_ = 0.03;
  Timer timer_;
  Timer sync_;
};

}  // namespace rtrain
