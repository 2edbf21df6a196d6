#include "host/train/operator_commands.h"

#include <utility>

#include "host/base/clock.h"
#include "host/base/text.h"
#include "host/train/watch/diag_folder.h"
#include "host/train/watch/stack_answer.h"

namespace rtrain {

OperatorCommands::OperatorCommands(Loop& loop, const std::string& run_id, Seams seams)
    : seams_(std::move(seams)), server_(loop, run_id) {
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
  const std::vector<RankState>& ranks = seams_.machine.ranks;
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
  if (seams_.spec.local) {
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
  plan.stem =
      cat(seams_.run_path, "/profiles/", DiagFolder::name(now_ms(), seams_.machine.attempt));
  seams_.ask_profiles(plan, [attempt = seams_.machine.attempt, reply](const List& profiles) {
    reply(Map{{"attempt", attempt}, {"profiles", profiles}});
  });
}

Value OperatorCommands::stop(const Value& request) {
  const bool now = request["now"].bool_or(false);
  if (now) {
    seams_.stop_now();
  } else {
    seams_.request_stop(cat("`rtrain stop` (pid ", request["pid"].as_int(), ")"));
  }
  return Map{{"grace_s", now ? 0.0 : seams_.spec.preemption_grace_s}};
}

void OperatorCommands::show_stacks(const Value& request, const ControlServer::Reply& reply) {
  if (seams_.spec.local) {
    throw Error(Code::kUsage,
                "the train function runs in the script's own process "
                "(num_workers = 0): there are no workers to ask");
  }
  const auto answer = [&machine = seams_.machine, reply](List ranks) {
    reply(Map{{"attempt", machine.attempt},
              {"state", state_name(machine.state)},
              {"ranks", std::move(ranks)}});
  };
  if (seams_.machine.ranks.empty()) return answer({});
  const auto rank = asked_rank(request, seams_.machine.ranks.size());
  seams_.ask_stacks([&machine = seams_.machine, rank, answer](const List& stacks) {
    answer(stack_answer(rank, stacks, machine.ranks));
  });
}

}  // namespace rtrain
