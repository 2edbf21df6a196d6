#include "host/train/operator_commands.h"

#include <utility>

#include "host/base/text.h"
#include "host/train/stack_answer.h"

namespace rtrain {

OperatorCommands::OperatorCommands(Loop& loop, const std::string& run_id, Seams seams)
    : seams_(std::move(seams)), server_(loop, run_id) {
  server_.add("stop", [this](const Value& request, const ControlServer::Reply& reply) {
    reply(stop(request));
  });
  server_.add("stack", [this](const Value& request, const ControlServer::Reply& reply) {
    show_stacks(request, reply);
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
