// host/cli/control_client.h: a command that asks the controller of a live run, on this host or on
// another one of its job.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "host/base/value.h"
#include "host/cli/control_way.h"
#include "host/loop/messages/record.h"
#include "host/store/run_reader.h"

namespace rtrain {

class ControlClient {
 public:
  // Throws kUsage when the run has ended, kEnvironment when its controller cannot be reached from
  // here: with the reason and, where it is known, the host and pid of the controller.
  explicit ControlClient(OpenRun& run);

  // Of the controller.
  int pid() const { return pid_; }
  // The answer to the command (host/loop/messages/commands.h). Throws what the controller answers
  // with, kTimeout when it does not answer, kNotFound when it ended before that.
  template <Message Command>
  typename Command::Answer ask(Command command, std::chrono::milliseconds timeout) {
    return from_value<typename Command::Answer>(
        ask(std::string(Command::kType), to_value(std::move(command)), timeout));
  }
  // Waits until the run has ended; false when the time has passed before.
  bool wait_for_end(std::chrono::milliseconds timeout);

 private:
  using Read = ControlWay::Read;
  Value ask(const std::string& op, Value request, std::chrono::milliseconds timeout);

  std::unique_ptr<ControlWay> way_;
  int pid_ = 0;
};

}  // namespace rtrain
