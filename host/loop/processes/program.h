// host/loop/processes/program.h: a program of the user's as a child, and its messages
// over a socket.
//
// It runs in a session of its own, in this process's folder; its standard output is this process's.
// Its stderr goes to this process's stderr, and its end is kept. Descriptor 3 of the
// program is a stream of lines in both directions, descriptor 4 takes its stacks. For one thread,
// without a loop.
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
  std::vector<std::string> command;  // the program, looked for in $PATH, and its arguments
  StringPairs env;                   // added, or replacing
  std::vector<std::string> without;  // variables whose names begin like this are left out

  static constexpr RecordFields kFields{required("command", &ProgramOptions::command),
                                        required("env", &ProgramOptions::env),
                                        required("without", &ProgramOptions::without)};
};

class Program {
 public:
  static constexpr int kDescriptor = 3;
  // A memory file, into which python/sitecustomize.py writes stacks at that signal.
  static constexpr int kStacksDescriptor = 4;
  static constexpr const char* kStacksFile = "rtrain-stacks";
  static int stacks_signal();
  static constexpr size_t kMaxLineBytes = size_t{1} << 20;
  static constexpr size_t kKeptBytes = size_t{4} << 10;

  // Error(kConfig) where there is no such program; SpawnError.
  explicit Program(const ProgramOptions& options);
  // Kills what still runs, with its group.
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  int pid() const { return pid_; }

  enum class Event { kNothing, kLine, kEnded };
  // Waits for a line, at most so long, and no longer once the descriptor is readable. kEnded comes
  // when the process has ended and all its lines were given. Throws Error(kUser) for a line that is
  // longer than allowed.
  Event next(double timeout_s, std::string& line, int other_fd = -1);
  // Without the end of line. A program that does not listen any more gets nothing.
  void write(std::string_view line);
  // To the program alone, while it runs.
  void send(int signal);
  // Waits for its end, and kills it with its group when the time has passed. Again gives the same.
  ExitStatus end(double timeout_s);
  // The last lines of its stderr, whole ones.
  std::string last_words() const;

 private:
  bool take_line(std::string& line);
  void read_lines();
  void pass_stderr();

  int pid_ = -1;
  Fd socket_, stderr_, life_;
  std::string unread_;
  size_t taken_ = 0;  // bytes of unread_ that were given as lines
  std::string kept_;
  std::optional<ExitStatus> status_;
};

}  // namespace rtrain::loop
