// host/train/group/worker_output.h: writes the output of an attempt's workers to their logs and to
// the terminal, and keeps the last line of each.
//
// Belongs to the control thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "host/base/error.h"
#include "host/node/workers/output_lines.h"
#include "host/train/record/run_events.h"
#include "host/train/reports/record_writer.h"

namespace rtrain::train {

class WorkerOutput {
 public:
  WorkerOutput(RecordWriter& writer, RunEvents& events, int attempt, int num_workers);

  // Adds output to the rank's log, and line by line to the terminal.
  void add(int rank, node::OutputStream stream, std::string_view bytes);
  // Adds an error that the rank has sent to its log.
  void add(int rank, const Error& error);
  // The rank prints no more: its last lines may lack a newline.
  void finish(int rank);

  // The rank's last line on stderr, where libraries print why they abort; only its beginning if it
  // is long.
  const std::string& last_words(int rank) const {
    return ranks_.at(static_cast<size_t>(rank)).last_words;
  }

 private:
  struct Rank {
    node::OutputLines lines;
    std::string last_words = {};
  };
  Rank& at(int rank) { return ranks_.at(static_cast<size_t>(rank)); }
  void log(int rank, std::string_view bytes);
  void show(int rank, std::vector<node::OutputLine> lines);

  RecordWriter& writer_;
  RunEvents& events_;
  int attempt_;
  std::vector<Rank> ranks_;
};

}  // namespace rtrain::train
