// host/train/reports/extras_receiver.h: receives records of an attempt's ranks other than reports
// (train.annotate, train.log_image and similar), and holds back a rank that sends them faster than
// they can be stored.
//
// Belongs to the control thread. From time to time a rank sends a message with an `id` and waits
// for the reply, which is sent when little is left to be written.
#pragma once

#include <functional>
#include <vector>

#include "host/loop/messages/to_controller.h"
#include "host/loop/messages/to_worker.h"
#include "host/train/reports/record_writer.h"

namespace rtrain::train {

class ExtrasReceiver {
 public:
  using Send = std::function<void(int rank, message::ToWorker message)>;

  ExtrasReceiver(RecordWriter& writer, Send send) : writer_(writer), send_(std::move(send)) {}

  void add(int attempt, int rank, message::Annotation note);
  void add(int attempt, int rank, message::Media media);
  // Something was written: ranks that were held back may continue.
  void on_written();

 private:
  struct Asked {
    int rank;
    int64_t id;
  };

  void ask(int rank, int64_t id);

  RecordWriter& writer_;
  Send send_;
  std::vector<Asked> asked_;
};

}  // namespace rtrain::train
