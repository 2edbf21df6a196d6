// host/train/reports/report_receiver.h: takes what the ranks of one attempt say about their
// reports, and answers them.
//
// Belongs to the control thread. Holds the messages' parts together, the deadlines and the flow;
// what complete reports mean is its owner's business.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "host/base/value.h"
#include "host/loop/timer.h"
#include "host/train/reports/report_collector.h"
#include "host/train/reports/report_flow.h"

namespace rtrain {

class ReportReceiver {
 public:
  struct Options {
    int world_size = 1;
    int64_t first_index = 0;
    double timeout_s = 1800;
    double notice_s = 60;  // how long a checkpoint may wait for a rank before a line says so
  };
  struct Seams {
    std::function<void(int rank, const Value& message)> send;
    std::function<void(const Report& report)> on_report;  // what is to be written down
    std::function<void(std::vector<Report> reports)> on_complete;
    std::function<void(const std::string& text)> on_notice;
    std::function<size_t()> unwritten_bytes;
    std::function<uint64_t()> copied_bytes;  // of checkpoints: deadlines stop while it grows
  };

  ReportReceiver(Loop& loop, const Options& options, Seams seams);

  // The messages `report`, `files` and `uploaded` of a rank. Throws Error(kArgument) for what makes
  // no sense.
  void on_report(int rank, const Value& message);
  void on_files(int rank, const Value& message);
  void on_uploaded(int rank, const Value& message);
  void on_returned(int rank);
  // Something was written: ranks that were held back may go on.
  void on_written() { tell_taken(); }

  std::string uneven() const { return handler_.uneven(); }
  int64_t complete_below() const { return handler_.complete_below(); }
  std::string slowest() const { return handler_.slowest(); }

 private:
  void carry_out(ReportCollector::Progress progress);
  void look_at_clock();
  void tell_taken();

  Options options_;
  Seams seams_;
  ReportCollector handler_;
  ReportFlow flow_;
  uint64_t copied_bytes_ = 0;
  std::vector<List> files_;  // by rank: parts of the upload that is being sent
  Timer timer_;
};

}  // namespace rtrain
