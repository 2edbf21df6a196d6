// host/loop/line_reader.h: reads a pipe and gives its bytes, and its lines.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "host/loop/poll.h"

namespace rtrain {

class LineReader {
 public:
  struct Callbacks {
    std::function<void(std::string_view bytes)> on_bytes;  // as they come
    std::function<void(std::string line)> on_line;         // without the newline
    // Where given: what an unfinished line with carriage returns shows now, as a bar does.
    std::function<void(std::string_view text)> on_progress = nullptr;
  };

  // Owns the descriptor. Lines above 64 KiB come in pieces.
  LineReader(Loop& loop, int fd, Callbacks callbacks);

  // Reads what is there without waiting. False once the other end is closed.
  bool drain();
  // While held it reads nothing of itself, and a writer waits once the pipe is full.
  void hold(bool held);
  // Gives the last unfinished line and closes. A writer that goes on (a grandchild) gets SIGPIPE.
  void close();
  bool is_open() const { return open_; }

 private:
  void add(std::string_view bytes);
  void show_progress();

  Callbacks callbacks_;
  std::string line_;
  bool open_ = true;
  Poll poll_;
};

}  // namespace rtrain
