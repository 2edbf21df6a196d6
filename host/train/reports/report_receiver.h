// host/train/reports/report_receiver.h: receives the ranks' messages about reports and answers
// them.
//
// Belongs to the control thread. Decodes the messages of one attempt, passes the reports to a
// ReportCollector, keeps deadlines and sends acknowledgements; its delegate handles complete
// reports.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "host/base/value.h"
#include "host/decide/report_collector.h"
#include "host/decide/report_flow.h"
#include "host/loop/messages/to_controller.h"
#include "host/loop/messages/to_worker.h"
#include "host/loop/timer.h"

namespace rtrain::train {

class ReportReceiverDelegate {
 public:
  virtual ~ReportReceiverDelegate() = default;
  virtual void send(int rank, message::ToWorker message) = 0;
  virtual void warn(const std::string& text) = 0;
  // One rank's report, a copy, to be written.
  virtual void on_report(Report report) = 0;
  // The reports of all ranks with the same number.
  virtual void on_reports_complete(std::vector<Report> reports) = 0;
  // Size of what was received and is not written yet.
  virtual size_t unwritten_bytes() const = 0;
  // Bytes of checkpoints copied so far: deadlines are extended while this grows.
  virtual uint64_t copied_bytes() const = 0;
};

class ReportReceiver {
 public:
  struct Options {
    int world_size = 1;
    int64_t first_index = 0;
    double timeout_s = 0;
    double notice_s = 60;  // how long a checkpoint may wait for a rank before a notice
  };

  ReportReceiver(loop::Loop& loop, const Options& options, ReportReceiverDelegate& delegate);

  // Throw Error(kArgument) for an invalid message.
  void on_report(int rank, Report report);
  void on_files(int rank, message::Files sent);
  void on_uploaded(int rank, message::Uploaded sent);
  void on_returned(int rank);
  // The ranks continue in another attempt, whose first report has this number. Earlier reports are
  // completed without the lost ranks.
  void close_below(int64_t index);
  // Something was written: ranks that were held back may continue.
  void on_written() { acknowledge(); }

  std::string uneven() const { return collector_.uneven(); }
  int64_t complete_below() const { return collector_.complete_below(); }
  std::string slowest() const { return collector_.slowest(); }

 private:
  void answer(decide::ReportCollector::Progress progress);
  void look_at_clock();
  void acknowledge();

  Options options_;
  ReportReceiverDelegate& delegate_;
  decide::ReportCollector collector_;
  decide::ReportFlow flow_;
  uint64_t copied_bytes_ = 0;
  // By rank: parts received of the upload being sent.
  std::vector<std::vector<CheckpointFile>> files_;
  loop::Timer timer_;
};

}  // namespace rtrain::train
