// host/control/control_client.h: asks the controller of a live run, on this node or on another one
// of its job: `rtrain stop`, `stack` and `profile`, and the dashboard.
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
#include "host/store/read/run_reader.h"

namespace rtrain::control {

class ControlClient {
 public:
  // Throws kUsage when the run has ended, kEnvironment when its controller cannot be reached from
  // here: with the reason and, where it is known, the node and pid of the controller. Where `stop`
  // is requested, what waits for an answer throws kTimeout within a fifth of a second.
  explicit ControlClient(store::OpenRun& run, std::stop_token stop = {});

  // Of the controller.
  int pid() const { return pid_; }
  // The answer to the command (host/loop/messages/commands.h). Throws what the controller answers
  // with, kTimeout when it does not answer, kNotFound when it ended before that.
  template <Message Command>
  typename Command::Answer ask(Command command, std::chrono::milliseconds timeout = kAnswer) {
    return from_value<typename Command::Answer>(
        ask(std::string(Command::kType), to_value(std::move(command)), timeout));
  }
  // The run ends, at its next checkpoint or `now`; its events name the command.
  message::Stopping stop(bool now, const std::string& command);
  // Of one rank; without: of all.
  message::Stacks stacks(std::optional<int64_t> rank);
  // Returns when they are recorded.
  message::Profiles profiles(const message::RecordProfiles& request);
  // Waits until the run has ended; false when the time has passed before.
  bool wait_for_end(std::chrono::milliseconds timeout);

 private:
  using Read = ControlWay::Read;
  // A worker that does not say where it is is described after 2.5 s.
  static constexpr std::chrono::seconds kAnswer{10};

  Value ask(const std::string& op, Value request, std::chrono::milliseconds timeout);
  Read read(std::chrono::milliseconds timeout, Value& message);

  std::unique_ptr<ControlWay> way_;
  std::stop_token stop_;
  int pid_ = 0;
};

// What commands print of an answer: {name, run_id, …} and the answer's fields.
template <Record Answer>
Map describe_answer(const store::RunRef& run, Answer answer) {
  Map out{{"name", run.name}, {"run_id", run.run_id}};
  const Value fields = to_value(std::move(answer));
  for (const auto& [key, value] : fields.as_map()) out.set(key, value);
  return out;
}

}  // namespace rtrain::control
