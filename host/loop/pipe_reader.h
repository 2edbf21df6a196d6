// host/loop/pipe_reader.h: reads the output of a process from a pipe.
#pragma once

#include <functional>
#include <string_view>

#include "host/loop/poll.h"

namespace rtrain::loop {

class PipeReader {
 public:
  using OnBytes = std::function<void(std::string_view bytes)>;

  // Owns the descriptor.
  PipeReader(Loop& loop, int fd, OnBytes on_bytes);

  // Reads all that is there without waiting. False once the other end is closed.
  bool drain();
  // While held it reads nothing of itself, and a writer waits once the pipe is full.
  void hold(bool held);
  // A writer that continues (a grandchild) gets SIGPIPE.
  void close();

 private:
  OnBytes on_bytes_;
  bool open_ = true;
  Poll poll_;
};

}  // namespace rtrain::loop
