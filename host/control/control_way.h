// host/control/control_way.h: a connection to the controller of a live run: through its socket in
// the runtime folder or, from another node of a job, through the job's port.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "host/base/value.h"

namespace rtrain::control {

class ControlWay {
 public:
  enum class Read { kMessage, kEnd, kTimeout };
  virtual ~ControlWay() = default;
  // Sends a request. Returns false when the run has ended.
  virtual bool send(const Value& request) = 0;
  // Waits for a message. Returns kEnd when the run has ended.
  virtual Read read(std::chrono::milliseconds timeout, Value& message) = 0;
  // The controller's process id; nullopt from another node.
  virtual std::optional<int> pid() const = 0;
};

// Connects through the socket. Null when no process listens at it; `errno` says why.
std::unique_ptr<ControlWay> control_socket(const std::string& run_id);

// Connects with the contact in the run's folder. Null when there is no contact. Throws
// Error(kEnvironment), with the reason, when the controller cannot be reached.
std::unique_ptr<ControlWay> control_link(const std::string& run_path, const std::string& run_id);

}  // namespace rtrain::control
