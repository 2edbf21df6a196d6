// host/loop/processes/child_command.h: runs a command of this executable as a child, whose output
// is written to a file.
//
// The child has a session of its own. An object belongs to one thread and needs no loop.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "host/base/codec/record.h"
#include "host/loop/processes/process.h"

namespace rtrain::loop {

struct ChildCommandOptions {
  static constexpr std::string_view kClass = "ChildCommandOptions";
  std::vector<std::string> args;  // without argv[0]
  StringPairs env;
  std::string log;  // file for its stdout and stderr, which are appended

  static constexpr RecordFields kFields{required("args", &ChildCommandOptions::args),
                                        required("env", &ChildCommandOptions::env),
                                        required("log", &ChildCommandOptions::log)};
};

class ChildCommand {
 public:
  // Throws Error(kEnvironment).
  explicit ChildCommand(const ChildCommandOptions& options);
  // Kills the process if it still runs.
  ~ChildCommand();
  ChildCommand(const ChildCommand&) = delete;
  ChildCommand& operator=(const ChildCommand&) = delete;

  int pid() const { return pid_; }
  bool is_running() const;
  // Sends a signal to the process alone, while it runs: what its children get is up to that
  // process.
  void send(int signal) const;
  // Waits for its end. If the time passes first, kills it with its group. Later calls return the
  // same.
  ExitStatus end(double timeout_s);

 private:
  int pid_ = -1;
  bool is_ended_ = false;
  ExitStatus status_;
};

}  // namespace rtrain::loop
