// host/loop/processes/command_output.h: the output of a shell command, with a limit for the time to
// wait.
//
// The constructor starts the command, in a session of its own, without input. Its stderr is
// discarded. An object belongs to one thread.
#pragma once

#include <string>
#include <string_view>

#include "host/base/files/fd.h"

namespace rtrain::loop {

class CommandOutput {
 public:
  // Starts `/bin/sh -c COMMAND`. Throws Error(kEnvironment).
  explicit CommandOutput(const std::string& command);
  // Kills processes that still run. Does not wait for one that hangs in the kernel.
  ~CommandOutput();
  CommandOutput(const CommandOutput&) = delete;
  CommandOutput& operator=(const CommandOutput&) = delete;

  // Waits until the command has closed its stdout, or the time has passed, even if it prints
  // without end. Returns whether it has closed its stdout.
  bool finish(double timeout_s);
  // Returns its output; if that exceeds kMostBytes, at least the last kMostBytes.
  static constexpr size_t kMostBytes = size_t{256} << 10;
  std::string_view text() const { return text_; }

 private:
  void add(std::string_view bytes);

  Fd pipe_;
  int pid_ = -1;
  std::string text_;
};

}  // namespace rtrain::loop
