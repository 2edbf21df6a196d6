// host/cli/control_client.h: a command's connection to the controller of a live run
// (host/train/control_server.h).
#pragma once

#include <chrono>
#include <string>

#include "host/base/value.h"
#include "host/loop/frame.h"
#include "host/loop/messages/record.h"
#include "host/store/run_reader.h"

namespace rtrain {

class ControlClient {
 public:
  // Throws kUsage when the run has ended, kEnvironment when its controller cannot be reached from
  // here: with the reason and, where it is known, the host and pid of the controller.
  explicit ControlClient(OpenRun& run);
  ~ControlClient();
  ControlClient(const ControlClient&) = delete;
  ControlClient& operator=(const ControlClient&) = delete;

  // Of the process at the other end.
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
  enum class Read { kMessage, kEnd, kTimeout };
  Value ask(const std::string& op, Value request, std::chrono::milliseconds timeout);
  Read read_message(std::chrono::milliseconds timeout, Value& message);

  int fd_ = -1;
  int pid_ = 0;
  FrameReader frames_;
};

}  // namespace rtrain
