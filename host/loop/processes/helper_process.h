// host/loop/processes/helper_process.h: a process of this executable that works for one thread.
// Both communicate over a socket pair.
//
// It shares this process's standard output and error and has a session of its own. The kernel kills
// it when the thread that started it ends. An object belongs to one thread and needs no loop.
#pragma once

#include <string>
#include <vector>

#include "host/base/files/fd.h"
#include "host/loop/processes/process.h"

namespace rtrain::loop {

struct HelperOptions {
  std::vector<std::string> args;  // without argv[0]; the parent's pid is appended
  std::vector<std::pair<std::string, std::string>> env;
  std::vector<int> cpus;  // the processors it may run on; empty: those of this thread
  int engine_fd = -1;     // becomes kEngineFd in the helper; its socket is kChannelFd
};

class HelperProcess {
 public:
  // Throws SpawnError (kEnvironment) when it cannot be started.
  explicit HelperProcess(const HelperOptions& options);
  // Kills the process if it still runs.
  ~HelperProcess();
  HelperProcess(const HelperProcess&) = delete;
  HelperProcess& operator=(const HelperProcess&) = delete;

  int pid() const { return pid_; }
  bool is_running() const;
  // Gives the near end of the socket to the caller, once. The socket keeps the bounds of packets.
  int take_socket() { return socket_.release(); }
  // Waits for its end and returns how it ended. When the time has passed, kills it with its group.
  // Later calls return the same.
  ExitStatus end(double timeout_s);

 private:
  int pid_ = -1;
  bool is_ended_ = false;
  ExitStatus status_;
  Fd socket_;
};

}  // namespace rtrain::loop
