// host/loop/processes/child_command.h: a command of this executable as a child whose output goes to
// a file.
//
// It has a session of its own. For one thread, without a loop.
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
  std::string log;  // file of its stdout and stderr, written from its end on

  static constexpr RecordFields kFields{required("args", &ChildCommandOptions::args),
                                        required("env", &ChildCommandOptions::env),
                                        required("log", &ChildCommandOptions::log)};
};

class ChildCommand {
 public:
  // Throws kEnvironment.
  explicit ChildCommand(const ChildCommandOptions& options);
  // Kills the process if it still runs.
  ~ChildCommand();
  ChildCommand(const ChildCommand&) = delete;
  ChildCommand& operator=(const ChildCommand&) = delete;

  int pid() const { return pid_; }
  bool is_running() const;
  // To the process alone, while it runs: its children are its own business.
  void send(int signal) const;
  // Waits for its end, and kills it with its group when the time has passed. Again gives the same.
  ExitStatus end(double timeout_s);

 private:
  int pid_ = -1;
  bool is_ended_ = false;
  ExitStatus status_;
};

}  // namespace rtrain::loop
