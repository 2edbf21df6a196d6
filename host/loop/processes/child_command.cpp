#include "host/loop/processes/child_command.h"

#include <fcntl.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "host/base/error.h"
#include "host/base/files/fd.h"
#include "host/base/text/text.h"
#include "host/loop/processes/child_life.h"

namespace rtrain::loop {

ChildCommand::ChildCommand(const ChildCommandOptions& options) {
  const Fd log(open(options.log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  if (log.get() < 0) {
    throw Error(Code::kEnvironment,
                cat("cannot write ", options.log, ": ", std::string_view(std::strerror(errno))));
  }
  ProcessOptions process;
  process.file = "/proc/self/exe";
  process.args = options.args;
  process.args.insert(process.args.begin(), "rtrain");
  process.env = options.env;
  process.descriptors = {log.get(), log.get()};
  pid_ = spawn(process);
}

ChildCommand::~ChildCommand() { end(0); }

bool ChildCommand::is_running() const {
  return !is_ended_ && life_of_child(pid_) == ChildLife::kRuns;
}

void ChildCommand::send(int signal) const {
  if (is_running()) kill(pid_, signal);
}

ExitStatus ChildCommand::end(double timeout_s) {
  if (!is_ended_) status_ = end_child(pid_, timeout_s);
  is_ended_ = true;
  return status_;
}

}  // namespace rtrain::loop
