// host/train/operator_commands.h: answers the commands for a live run: `rtrain stop`, `rtrain
// stack`, `rtrain profile`.
//
// Belongs to the control thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "host/decide/run/state_machine.h"
#include "host/loop/messages/commands.h"
#include "host/loop/messages/routes.h"
#include "host/train/control_server.h"
#include "host/train/record/run_context.h"
#include "host/train/watch/profile_request.h"
#include "host/train/watch/stack_request.h"

namespace rtrain::train {

class OperatorCommandsDelegate {
 public:
  virtual ~OperatorCommandsDelegate() = default;
  virtual void on_stop_command(const std::string& by) = 0;
  virtual void on_stop_now_command(const std::string& by) = 0;
  // Profiles running ranks. Throws kUsage while another request is in progress.
  virtual void ask_profiles(const ProfilePlan& plan, ProfileRequest::Done done) = 0;
  // Collects the stacks of the ranks that exist.
  virtual void ask_stacks(StackRequest::Done done) = 0;
};

class OperatorCommands {
 public:
  // Throws kEnvironment if no command could reach the run.
  OperatorCommands(const RunContext& run, const decide::Machine& machine,
                   OperatorCommandsDelegate& delegate);

  // Answers a request that did not come through this node's socket.
  void answer(Value request, std::function<void(const Value& reply)> send);

  // The handlers of the commands.
  static const loop::Routes<message::Command, OperatorCommands, const ControlServer::Reply&>
      kRoutes;

 private:
  ControlServer::Handler handler();
  message::Stopping stop(const message::StopRun& asked);
  std::vector<int> profiled_ranks(std::optional<int64_t> asked) const;
  void record_profiles(const message::RecordProfiles& asked, const ControlServer::Reply& reply);
  void show_stacks(const message::ShowStacks& asked, const ControlServer::Reply& reply);

  const RunContext& run_;
  const decide::Machine& machine_;
  OperatorCommandsDelegate& delegate_;
  ControlServer server_;
};

}  // namespace rtrain::train
