// host/control/control_client.h: sends commands to the controller of a live run, from its node or
// another node of its job, for `rtrain stop`, `stack` and `profile`, and for the dashboard.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "host/base/codec/record.h"
#include "host/base/value.h"
#include "host/control/control_way.h"
#include "host/loop/messages/commands.h"
#include "host/store/read/open_store.h"

namespace rtrain::control {

class ControlClient {
 public:
  // Connects to the controller. Throws kUsage when the run has ended, and kEnvironment when this
  // node cannot reach its controller, with the reason and the controller's node. After a request on
  // `stop`, a call that waits for an answer throws kTimeout within a fifth of a second.
  explicit ControlClient(store::OpenRun& run, std::stop_token stop = {});

  // The controller's process id.
  int pid() const { return pid_; }
  // Sends a command (host/loop/messages/commands.h) and returns the answer. Throws the error that
  // is the answer, kTimeout when there is none, and kNotFound when the controller ends before that.
  template <Message Command>
  typename Command::Answer ask(Command command, std::chrono::milliseconds timeout = kAnswer) {
    return from_value<typename Command::Answer>(
        ask(std::string(Command::kType), to_value(std::move(command)), timeout));
  }
  // Stops the run, at its next checkpoint or `now`. The run's events name `command`.
  message::Stopping stop(bool now, const std::string& command);
  // The stacks of one rank, or without `rank` of all.
  message::Stacks stacks(std::optional<int64_t> rank);
  // Records profiles. Returns when they are complete.
  message::Profiles profiles(const message::RecordProfiles& request);
  // Waits until the run has ended; false when the time has passed before.
  bool wait_for_end(std::chrono::milliseconds timeout);

 private:
  using Read = ControlWay::Read;
  // The controller waits 2.5 s for workers' stacks, then it describes the missing ones itself.
  static constexpr std::chrono::seconds kAnswer{10};

  Value ask(const std::string& op, Value request, std::chrono::milliseconds timeout);
  Read read(std::chrono::milliseconds timeout, Value& message);

  std::unique_ptr<ControlWay> way_;
  std::stop_token stop_;
  int pid_ = 0;
};

// The map that commands print: {name, run_id} and the answer's fields.
template <Record Answer>
Map describe_answer(const store::RunRef& run, Answer answer) {
  Map out{{"name", run.name}, {"run_id", run.run_id}};
  const Value fields = to_value(std::move(answer));
  for (const auto& [key, value] : fields.as_map()) out.set(key, value);
  return out;
}

}  // namespace rtrain::control
