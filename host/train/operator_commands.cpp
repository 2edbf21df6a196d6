#include "host/train/operator_commands.h"

#include <string>
#include <string_view>
#include <utility>

#include "host/base/clock.h"
#include "host/base/text/text.h"
#include "host/train/watch/diag_folder.h"
#include "host/train/watch/stack_answer.h"

namespace rtrain::train {
namespace {

// Names for users the process that asks: "`rtrain stop` (pid 7)".
std::string asker(const message::StopRun& asked) {
  const std::string command = asked.command.empty() ? "rtrain stop" : asked.command;
  const bool is_page = command == "rtrain dash";
  return cat(is_page ? "the dashboard, " : "", "`", command, "` (pid ", asked.pid, ")");
}

}  // namespace

const loop::Routes<message::Command, OperatorCommands, const ControlServer::Reply&>
    OperatorCommands::kRoutes{
        loop::on<message::StopRun>([](OperatorCommands& c, const auto& reply, const auto& asked) {
          reply(to_value(c.stop(asked)));
        }),
        loop::on<message::ShowStacks>([](OperatorCommands& c, const auto& reply,
                                         const auto& asked) { c.show_stacks(asked, reply); }),
        loop::on<message::RecordProfiles>(
            [](OperatorCommands& c, const auto& reply, const auto& asked) {
              c.record_profiles(asked, reply);
            }),
    };

OperatorCommands::OperatorCommands(const RunContext& run, const decide::Machine& machine,
                                   OperatorCommandsDelegate& delegate)
    : run_(run), machine_(machine), delegate_(delegate), server_(run.loop, run.run_id, handler()) {}

ControlServer::Handler OperatorCommands::handler() {
  return [this](const std::string& op, Value request, const ControlServer::Reply& reply) {
    return kRoutes.try_deliver(op, *this, reply, std::move(request));
  };
}

void OperatorCommands::answer(Value request, std::function<void(const Value& reply)> send) {
  ControlServer::answer(handler(), std::move(request), std::move(send));
}

// Returns the ranks to profile, of those that run the train function. Throws kUsage for any other.
std::vector<int> OperatorCommands::profiled_ranks(std::optional<int64_t> asked) const {
  const std::vector<decide::RankState>& ranks = machine_.group.ranks;
  if (ranks.empty()) throw Error(Code::kUsage, "the run has no worker at the moment");
  check_asked_rank(asked, ranks.size());
  std::vector<int> out;
  for (int rank = 0; rank < static_cast<int>(ranks.size()); ++rank) {
    if (asked && rank != *asked) continue;
    const decide::RankState& state = ranks[static_cast<size_t>(rank)];
    if (state.phase != decide::Phase::kRunning || state.returned || state.gone) {
      throw Error(Code::kUsage, cat("rank ", rank, " does not run its train function: it ",
                                    state.gone       ? "has gone"
                                    : state.returned ? "has returned"
                                                     : "is still starting"));
    }
    out.push_back(rank);
  }
  return out;
}

void OperatorCommands::record_profiles(const message::RecordProfiles& asked,
                                       const ControlServer::Reply& reply) {
  if (run_.spec.is_local) {
    throw Error(Code::kUsage,
                "the train function runs in the script's own process (num_workers = 0): record it "
                "there, with torch.profiler.profile");
  }
  ProfilePlan plan;
  plan.ranks = profiled_ranks(asked.rank);
  plan.settings = asked.settings;
  plan.stem = cat(run_.run_path, "/profiles/", DiagFolder::name(now_ms(), machine_.attempt));
  delegate_.ask_profiles(plan, [attempt = machine_.attempt, reply](auto profiles) {
    reply(to_value(message::Profiles{.attempt = attempt, .profiles = std::move(profiles)}));
  });
}

message::Stopping OperatorCommands::stop(const message::StopRun& asked) {
  const std::string by = asker(asked);
  if (asked.now) {
    delegate_.on_stop_now_command(by);
    return {.grace_s = 0};
  }
  delegate_.on_stop_command(by);
  return {.grace_s = run_.spec.failure_config.preemption_grace_s};
}

void OperatorCommands::show_stacks(const message::ShowStacks& asked,
                                   const ControlServer::Reply& reply) {
  if (run_.spec.is_local) {
    throw Error(Code::kUsage,
                "the train function runs in the script's own process "
                "(num_workers = 0): there are no workers to ask");
  }
  const auto answer = [&machine = machine_, reply](std::vector<loop::RankStack> ranks) {
    reply(to_value(message::Stacks{.attempt = machine.attempt,
                                   .state = std::string(decide::state_name(machine.state())),
                                   .ranks = std::move(ranks)}));
  };
  if (machine_.group.ranks.empty()) return answer({});
  check_asked_rank(asked.rank, machine_.group.ranks.size());
  delegate_.ask_stacks([&machine = machine_, rank = asked.rank, answer](const auto& stacks) {
    answer(stack_answer(rank, stacks, machine.group.ranks));
  });
}

}  // namespace rtrain::train
