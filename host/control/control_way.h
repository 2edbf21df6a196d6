// host/control/control_way.h: how one reaches the controller of a live run: over its socket in
// the runtime folder, or, from another node of a job, over the job's port.
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
  // False: the run has ended.
  virtual bool send(const Value& request) = 0;
  // kEnd: the run has ended.
  virtual Read read(std::chrono::milliseconds timeout, Value& message) = 0;
  // Of the controller; nothing where this node cannot know.
  virtual std::optional<int> pid() const = 0;
};

// Null when no process listens there; `errno` says why.
std::unique_ptr<ControlWay> control_socket(const std::string& run_id);

// By the contact in the run's folder; null when there is none. Throws Error(kEnvironment) when the
// controller cannot be reached with it, with the reason.
std::unique_ptr<ControlWay> control_link(const std::string& run_path, const std::string& run_id);

}  // namespace rtrain::control
