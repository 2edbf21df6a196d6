// host/loop/processes/command_output.h: the output of a shell command, waited for no longer than is
// allowed.
//
// The command runs from the start on, in a session of its own, without input; its stderr goes
// nowhere. For one thread.
#pragma once

#include <string>
#include <string_view>

#include "host/base/files/fd.h"

namespace rtrain::loop {

class CommandOutput {
 public:
  // Starts `/bin/sh -c COMMAND`. Throws Error(kEnvironment).
  explicit CommandOutput(const std::string& command);
  // Kills what still runs, and does not wait for a process that hangs in the kernel.
  ~CommandOutput();
  CommandOutput(const CommandOutput&) = delete;
  CommandOutput& operator=(const CommandOutput&) = delete;

  // Waits until the command has closed its stdout, or the time has passed, also where it prints
  // without end. True: it has closed it.
  bool finish(double timeout_s);
  // Its output; where that is more, at least the last kMostBytes.
  static constexpr size_t kMostBytes = size_t{256} << 10;
  std::string_view text() const { return text_; }

 private:
  void add(std::string_view bytes);

  Fd pipe_;
  int pid_ = -1;
  std::string text_;
};

}  // namespace rtrain::loop
