// host/train/operator_commands.h: what commands ask of a live run: `rtrain stop`, `rtrain stack`,
// `rtrain profile`.
//
// Belongs to the control thread.
#pragma once

#include <functional>
#include <string>

#include "host/train/control_server.h"
#include "host/train/run_spec.h"
#include "host/train/state_machine.h"
#include "host/train/watch/profile_request.h"
#include "host/train/watch/stack_request.h"

namespace rtrain {

class OperatorCommands {
 public:
  struct Seams {
    const RunSpec& spec;
    const Machine& machine;
    std::string run_path;
    std::function<void(const std::string& by)> request_stop;
    std::function<void()> stop_now;
    // Profiles of running ranks. Throws kUsage while others are under way.
    std::function<void(const ProfilePlan& plan, ProfileRequest::Done done)> ask_profiles;
    // The stacks of the ranks there are.
    std::function<void(StackRequest::Done done)> ask_stacks;
  };
  // Throws kEnvironment where no command could reach the run.
  OperatorCommands(Loop& loop, const std::string& run_id, Seams seams);

 private:
  Value stop(const Value& request);
  std::vector<int> profiled_ranks(const Value& request) const;
  void record_profiles(const Value& request, const ControlServer::Reply& reply);
  void show_stacks(const Value& request, const ControlServer::Reply& reply);

  Seams seams_;
  ControlServer server_;
};

}  // namespace rtrain
