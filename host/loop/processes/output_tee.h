// host/loop/processes/output_tee.h: while it lives, what this process and those it has started
// write to stdout and stderr is also added to a log.
//
// Both become pipes that a small process (`FILE --tee`) reads: it writes the bytes to where they
// would have gone, and to the log. So nothing is lost when this process dies, however it does, and
// a slow terminal makes a writer wait as it would have without the log. Streams that are one file
// share a pipe, so that their order stays.
//
// For one thread. pause(), resume() and the destructor flush C's streams.
#pragma once

#include <atomic>
#include <string>

#include "host/base/files/fd.h"

namespace rtrain::loop {

class OutputTee {
 public:
  // Begins. `file`: the executable that has --tee. The log is bounded (host/base/files/log_file.h).
  // Throws Error(kEnvironment).
  OutputTee(const std::string& file, const std::string& log_path, int64_t log_bytes);
  // Ends as pause() does. Output that processes started meanwhile write later is still
  // copied.
  ~OutputTee();
  OutputTee(const OutputTee&) = delete;
  OutputTee& operator=(const OutputTee&) = delete;

  // Output goes straight to where it went before, and not to the log. First waits until all that
  // was written before is there, for 5 s at most.
  void pause();
  void resume();
  // Why the log could not be written, an errno; 0: it could.
  int log_error() const;

  // The state that both processes see.
  struct Page {
    // The tee holds bytes that it has not yet written. Set before it reads: bytes are in the pipe,
    // or this is set, or they are written.
    std::atomic<bool> busy;
    std::atomic<int> log_error;
  };

 private:
  bool is_copied() const;

  Fd out_;  // where stdout went before
  Fd err_;
  Fd out_pipe_;  // its end for writing
  Fd err_pipe_;  // closed when both streams share one
  Page* page_ = nullptr;
  int pid_ = -1;
  bool paused_ = true;
};

// The main function of that process, `FILE --tee LOG BYTES`. Returns its exit code.
int run_output_tee(const std::string& log_path, int64_t log_bytes);

}  // namespace rtrain::loop
