#include "host/train/operator_commands.h"

#include <utility>

#include "host/base/clock.h"
#include "host/base/text.h"
#include "host/train/watch/diag_folder.h"
#include "host/train/watch/stack_answer.h"

namespace rtrain {

OperatorCommands::OperatorCommands(const RunContext& run, const Machine& machine,
                                   OperatorCommandsDelegate& delegate)
    : run_(run), machine_(machine), delegate_(delegate), server_(run.loop, run.run_id) {
  server_.add("stop", [this](const Value& request, const ControlServer::Reply& reply) {
    reply(stop(request));
  });
  server_.add("profile", [this](const Value& request, const ControlServer::Reply& reply) {
    record_profiles(request, reply);
  });
  server_.add("stack", [this](const Value& request, const ControlServer::Reply& reply) {
    show_stacks(request, reply);
  });
}

// By the ranks that run the train function; throws kUsage for one that does not.
std::vector<int> OperatorCommands::profiled_ranks(const Value& request) const {
  const std::vector<RankState>& ranks = machine_.ranks;
  if (ranks.empty()) throw Error(Code::kUsage, "the run has no worker at the moment");
  const auto asked = asked_rank(request, ranks.size());
  std::vector<int> out;
  for (int rank = 0; rank < static_cast<int>(ranks.size()); ++rank) {
    if (asked && rank != *asked) continue;
    const RankState& state = ranks[static_cast<size_t>(rank)];
    if (state.phase != Phase::kRunning || state.returned || state.gone) {
      throw Error(Code::kUsage, cat("rank ", rank, " does not run its train function: it ",
                                    state.gone       ? "has gone"
                                    : state.returned ? "has returned"
                                                     : "is still starting"));
    }
    out.push_back(rank);
  }
  return out;
}

void OperatorCommands::record_profiles(const Value& request, const ControlServer::Reply& reply) {
  if (run_.spec.local) {
    throw Error(Code::kUsage,
                "the train function runs in the script's own process (num_workers = 0): record it "
                "there, with torch.profiler.profile");
  }
  ProfilePlan plan;
  plan.ranks = profiled_ranks(request);
  plan.seconds = request["seconds"].as_float();
  plan.steps = request["steps"].as_int();
  plan.timeout_s = request["timeout_s"].as_float();
  plan.record_shapes = request["record_shapes"].bool_or(false);
  plan.stem = cat(run_.run_path, "/profiles/", DiagFolder::name(now_ms(), machine_.attempt));
  delegate_.ask_profiles(plan, [attempt = machine_.attempt, reply](const List& profiles) {
    reply(Map{{"attempt", attempt}, {"profiles", profiles}});
  });
}

Value OperatorCommands::stop(const Value& request) {
  const bool now = request["now"].bool_or(false);
  if (now) {
    delegate_.on_stop_now_command();
  } else {
    delegate_.on_stop_command(cat("`rtrain stop` (pid ", request["pid"].as_int(), ")"));
  }
  return Map{{"grace_s", now ? 0.0 : run_.spec.preemption_grace_s}};
}

void OperatorCommands::show_stacks(const Value& request, const ControlServer::Reply& reply) {
  if (run_.spec.local) {
    throw Error(Code::kUsage,
                "the train function runs in the script's own process "
                "(num_workers = 0): there are no workers to ask");
  }
  const auto answer = [&machine = machine_, reply](List ranks) {
    reply(Map{{"attempt", machine.attempt},
              {"state", state_name(machine.state)},
              {"ranks", std::move(ranks)}});
  };
  if (machine_.ranks.empty()) return answer({});
  const auto rank = asked_rank(request, machine_.ranks.size());
  delegate_.ask_stacks([&machine = machine_, rank, answer](const List& stacks) {
    answer(stack_answer(rank, stacks, machine.ranks));
  });
}

}  // namespace rtrain
