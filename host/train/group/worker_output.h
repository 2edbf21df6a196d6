// host/train/group/worker_output.h: what the workers of one attempt print: to their logs, to the
// terminal, and the last words of each.
//
// Belongs to the control thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "host/base/error.h"
#include "host/train/reports/record_writer.h"
#include "host/train/run_events.h"

namespace rtrain {

class WorkerOutput {
 public:
  WorkerOutput(RecordWriter& writer, RunEvents& events, int attempt, int num_workers);

  // Bytes of either stream, for the rank's log.
  void add(int rank, std::string_view bytes);
  // An error that the rank has sent, whole, for its log.
  void add(int rank, const Error& error);
  // The same bytes in lines, for the terminal.
  void show_line(int rank, std::string_view stream, std::string line);
  // What a line that is not finished shows now.
  void show_progress(int rank, std::string_view text);

  // The rank's last line on stderr, where libraries say why they give up; its beginning, where it
  // is long.
  const std::string& last_words(int rank) const {
    return last_words_.at(static_cast<size_t>(rank));
  }

 private:
  RecordWriter& writer_;
  RunEvents& events_;
  int attempt_;
  std::vector<std::string> last_words_;  // by rank
};

}  // namespace rtrain
