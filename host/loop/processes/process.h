// host/loop/processes/process.h: a child process in a session and process group of its own.
//
// Belongs to the loop's thread, which must live as long as the child (the child asks for SIGKILL at
// its parent thread's end). When the group's leader has ended, the group is killed before the
// leader is reaped, so that the group's number is still its own.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "host/base/codec/record.h"
#include "host/base/error.h"
#include "host/loop/poll.h"

namespace rtrain::loop {

struct ProcessOptions {
  std::string file;
  std::vector<std::string> args;  // with argv[0]
  std::vector<std::pair<std::string, std::string>>
      env;  // added to this process's environment, or replacing it there
  std::vector<std::string> without = {};  // variables of this process that the child does not get
  // They become descriptors 1, 2, 3, … of the child. Its descriptor 0 is /dev/null, all others are
  // closed. For -1 the child has no descriptor of that number.
  std::vector<int> descriptors;
  std::vector<int> cpus;  // the processors it may run on; empty: those of this thread
};

// A process could not be started.
class SpawnError : public Error {
 public:
  SpawnError(const std::string& what, int reason);
  // Whether a retry may succeed: there were too many processes, or too little memory.
  bool is_transient() const;

 private:
  int reason_;
};

// How a process ended: by a signal, or with an exit code. It is not known if this process ignores
// SIGCHLD, because then the kernel reaps its children.
struct ExitStatus {
  int exit_code = 0;
  int signal = 0;
  bool is_known = true;

  static constexpr RecordFields kFields{required("exit_code", &ExitStatus::exit_code),
                                        required("signal", &ExitStatus::signal),
                                        required("is_known", &ExitStatus::is_known)};
};

// "killed by signal 9 (SIGKILL)" or "exited with code 3".
std::string to_text(const ExitStatus& status);

// Starts a process and returns its pid. Only the caller watches, ends and reaps it. Throws
// SpawnError (kEnvironment). The caller keeps its descriptors.
int spawn(const ProcessOptions& options);

class Process {
 public:
  using OnExit = std::function<void(ExitStatus status)>;

  // Throws SpawnError (kEnvironment) when the process cannot be started. The caller keeps its
  // descriptors.
  Process(Loop& loop, const ProcessOptions& options, OnExit on_exit);
  // Watches a process that is already a child of this one.
  Process(Loop& loop, int pid, OnExit on_exit);
  // Kills and reaps a child that still runs.
  ~Process();

  int pid() const { return pid_; }
  bool is_running() const { return running_; }
  // Sends the signal to the whole group. Does nothing once the child has ended.
  void kill_group(int signal);

 private:
  void on_end();
  bool is_reaped() const;

  int pid_ = -1;
  bool running_ = false;
  OnExit on_exit_;
  std::optional<Poll> exit_;
};

// Asks the kernel for SIGKILL when the parent ends. If the parent has ended already, ends this
// process at once. The child calls it first in main.
void die_with_parent(int parent_pid);

}  // namespace rtrain::loop
