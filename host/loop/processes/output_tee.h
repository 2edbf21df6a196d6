// host/loop/processes/output_tee.h: while it exists, the output of this process and of the
// processes that it has started to stdout and stderr is also added to a log.
//
// Both become pipes that a small process (`FILE --tee`) reads. It writes the bytes to their former
// destination and to the log. So no output is lost however this process dies, and a slow terminal
// makes a writer wait as it would without the log. If both streams are one file, they share a pipe,
// so that their order is kept.
//
// Belongs to one thread. pause(), resume() and the destructor flush C's streams.
#pragma once

#include <atomic>
#include <string>

#include "host/base/files/fd.h"

namespace rtrain::loop {

class OutputTee {
 public:
  // Begins. `file` is the executable that has --tee. The log's size is limited
  // (host/base/files/log_file.h). Throws Error(kEnvironment).
  OutputTee(const std::string& file, const std::string& log_path, int64_t log_bytes);
  // Ends as pause() does. Later output of processes that were started meanwhile is still copied.
  ~OutputTee();
  OutputTee(const OutputTee&) = delete;
  OutputTee& operator=(const OutputTee&) = delete;

  // From here on output goes to its former destination and not to the log. First waits, for 5 s at
  // most, until all earlier output has been written.
  void pause();
  void resume();
  // The errno of the log's first failed write; 0 without one.
  int log_error() const;

  // The state that both processes share.
  struct Page {
    // The tee holds bytes that it has not yet written. It sets this before it reads: so bytes are
    // in the pipe, or this is set, or they are written.
    std::atomic<bool> busy;
    std::atomic<int> log_error;
  };

 private:
  bool is_copied() const;

  Fd out_;  // where stdout went before
  Fd err_;
  Fd out_pipe_;  // the writing end of stdout's pipe
  Fd err_pipe_;  // the same for stderr; closed when both streams share one pipe
  Page* page_ = nullptr;
  int pid_ = -1;
  bool paused_ = true;
};

// The main function of the tee process, `FILE --tee LOG BYTES`. Returns its exit code.
int run_output_tee(const std::string& log_path, int64_t log_bytes);

}  // namespace rtrain::loop
