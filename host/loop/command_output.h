// host/loop/command_output.h: what a shell command prints, waited for no longer than is allowed.
//
// The command runs from the start on, in a session of its own, without input; its stderr goes
// nowhere. For one thread.
#pragma once

#include <string>

#include "host/base/fd.h"

namespace rtrain {

class CommandOutput {
 public:
  // Starts `/bin/sh -c COMMAND`. Throws Error(kEnvironment).
  explicit CommandOutput(const std::string& command);
  // Kills what still runs, and does not wait for a process that hangs in the kernel.
  ~CommandOutput();
  CommandOutput(const CommandOutput&) = delete;
  CommandOutput& operator=(const CommandOutput&) = delete;

  // Waits until the command has closed its stdout, or the time has passed. True: `text` is all of
  // it.
  bool finish(double timeout_s);
  const std::string& text() const { return text_; }

 private:
  Fd pipe_;
  int pid_ = -1;
  std::string text_;
};

}  // namespace rtrain
