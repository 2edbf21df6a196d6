// host/loop/processes/program.h: runs a program of the user's as a child, and exchanges messages
// with it over a socket.
//
// It runs in a session of its own, in this process's folder; its stdout is this process's. Its
// stderr is passed to this process's stderr, and its last bytes are kept. Descriptor 3 of the
// program is a stream of lines in both directions, and descriptor 4 receives its stacks. An object
// belongs to one thread and needs no loop.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/base/codec/record.h"
#include "host/base/files/fd.h"
#include "host/loop/processes/process.h"

namespace rtrain::loop {

struct ProgramOptions {
  static constexpr std::string_view kClass = "ProgramOptions";
  std::vector<std::string> command;  // the program, searched for in $PATH, and its arguments
  StringPairs env;                   // variables that are added or replaced
  std::vector<std::string> without;  // variables whose names begin like this are removed

  static constexpr RecordFields kFields{required("command", &ProgramOptions::command),
                                        required("env", &ProgramOptions::env),
                                        required("without", &ProgramOptions::without)};
};

class Program {
 public:
  static constexpr int kDescriptor = 3;
  // A memory file. At stacks_signal(), python/sitecustomize.py writes stacks into it.
  static constexpr int kStacksDescriptor = 4;
  static constexpr const char* kStacksFile = "rtrain-stacks";
  static int stacks_signal();
  static constexpr size_t kMaxLineBytes = size_t{1} << 20;
  static constexpr size_t kKeptBytes = size_t{4} << 10;

  // Throws Error(kConfig) when there is no such program, or a SpawnError.
  explicit Program(const ProgramOptions& options);
  // Kills the program with its group if it still runs.
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  int pid() const { return pid_; }

  enum class Event { kNothing, kLine, kEnded };
  // Waits for a line for that time, but not longer than until `other_fd` is readable. Returns
  // kEnded when the process has ended and all its lines have been returned. Throws Error(kUser) for
  // a line that is too long.
  Event next(double timeout_s, std::string& line, int other_fd = -1);
  // Writes a line, without its newline. Does nothing if the program does not read any more.
  void write(std::string_view line);
  // Sends the signal to the program alone, while it runs.
  void send(int signal);
  // Waits for its end. If the time passes first, kills it with its group. Later calls return the
  // same.
  ExitStatus end(double timeout_s);
  // The last complete lines of its stderr.
  std::string last_words() const;

 private:
  bool take_line(std::string& line);
  void read_lines();
  void pass_stderr();

  int pid_ = -1;
  Fd socket_, stderr_, life_;
  std::string unread_;
  size_t taken_ = 0;  // bytes of unread_ that were returned as lines
  std::string kept_;
  std::optional<ExitStatus> status_;
};

}  // namespace rtrain::loop
