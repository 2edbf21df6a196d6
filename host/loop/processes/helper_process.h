// host/loop/processes/helper_process.h: a process of this executable that works for one thread and
// talks to it over a socket pair.
//
// It shares this process's standard output and error and has a session of its own. The kernel kills
// it when the thread that started it ends. For one thread, without a loop.
#pragma once

#include <string>
#include <vector>

#include "host/base/files/fd.h"
#include "host/loop/processes/process.h"

namespace rtrain::loop {

struct HelperOptions {
  std::vector<std::string> args;  // without argv[0]; the parent's pid comes behind them
  std::vector<std::pair<std::string, std::string>> env;
  std::vector<int> cpus;  // the processors it may run on; empty: those of this thread
  int engine_fd = -1;     // becomes kEngineFd there; its socket is kChannelFd
};

class HelperProcess {
 public:
  // Throws SpawnError (kEnvironment) when it cannot be started.
  explicit HelperProcess(const HelperOptions& options);
  // Kills what still runs.
  ~HelperProcess();
  HelperProcess(const HelperProcess&) = delete;
  HelperProcess& operator=(const HelperProcess&) = delete;

  int pid() const { return pid_; }
  bool is_running() const;
  // The near end of the socket, once: the caller owns it. Its packets keep their bounds.
  int take_socket() { return socket_.release(); }
  // Waits for its end, and kills it with what it has started when the time has passed. How it
  // ended; again gives the same.
  ExitStatus end(double timeout_s);

 private:
  int pid_ = -1;
  bool is_ended_ = false;
  ExitStatus status_;
  Fd socket_;
};

}  // namespace rtrain::loop
