#include "host/decide/run/stage.h"

#include <array>

namespace rtrain::decide {
namespace {

constexpr std::array kStateNames = {"INITIALIZING", "SCHEDULING", "RESCHEDULING", "RUNNING",
                                    "PREEMPTING",   "RESTARTING", "RESIZING",     "SHUTTING_DOWN",
                                    "ERRORED",      "FINISHED",   "ABORTED",      "PREEMPTED"};

}  // namespace

std::string_view state_name(RunState state) { return kStateNames.at(static_cast<size_t>(state)); }

bool is_end(RunState state) { return state >= RunState::kErrored; }

RunState state_of(const Stage& stage, bool is_terminated) {
  if (const auto* over = std::get_if<stage::Over>(&stage)) return over->outcome;
  if (const auto* it = std::get_if<stage::Requesting>(&stage)) return it->state;
  if (const auto* it = std::get_if<stage::Pausing>(&stage)) return it->state;
  if (const auto* it = std::get_if<stage::Unwinding>(&stage)) return it->state;
  if (is_any<stage::Initializing>(stage)) return RunState::kInitializing;
  if (is_any<stage::Recording>(stage)) return RunState::kRestarting;
  if (is_any<stage::Beginning, stage::Starting, stage::Reopening, stage::Replacing>(stage)) {
    return RunState::kScheduling;
  }
  if (is_any<stage::Stopping>(stage)) {
    return is_terminated ? RunState::kPreempting : RunState::kRunning;
  }
  if (is_any<stage::Running, stage::Growing, stage::Gathering>(stage)) return RunState::kRunning;
  return RunState::kShuttingDown;
}

std::optional<GroupError> error_of(const Stage& stage) {
  return std::visit(
      [](const auto& it) -> std::optional<GroupError> {
        if constexpr (requires { it.error; }) return it.error;
        return std::nullopt;
      },
      stage);
}

bool has_group(const Stage& stage) {
  return is_running(stage) || is_regrouping(stage) ||
         is_any<stage::Starting, stage::Returning, stage::Killed>(stage);
}

bool is_running(const Stage& stage) {
  return is_any<stage::Running, stage::Growing, stage::Stopping>(stage);
}

bool is_regrouping(const Stage& stage) {
  return is_any<stage::Unwinding, stage::Recording, stage::Reopening, stage::Replacing,
                stage::Gathering>(stage);
}

bool is_between_attempts(const Stage& stage) {
  return is_any<stage::Initializing, stage::Requesting, stage::Pausing>(stage);
}

bool is_ending(const Stage& stage) { return is_any<stage::Ending, stage::Over>(stage); }

}  // namespace rtrain::decide
