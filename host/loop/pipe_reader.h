// host/loop/pipe_reader.h: reads the output of a process from a pipe.
#pragma once

#include <functional>
#include <string_view>

#include "host/loop/poll.h"

namespace rtrain::loop {

class PipeReader {
 public:
  using OnBytes = std::function<void(std::string_view bytes)>;

  // Takes ownership of the descriptor.
  PipeReader(Loop& loop, int fd, OnBytes on_bytes);

  // Reads all available bytes without waiting. Returns false once the other end is closed.
  bool drain();
  // While it is held, only drain() reads; a writer waits once the pipe is full.
  void hold(bool held);
  // A process that still writes (a grandchild) gets SIGPIPE.
  void close();

 private:
  OnBytes on_bytes_;
  bool open_ = true;
  Poll poll_;
};

}  // namespace rtrain::loop
