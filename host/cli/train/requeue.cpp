#include "host/cli/train/requeue.h"

#include <stdlib.h>

#include <iostream>

#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/loop/processes/command_output.h"
#include "host/lua/convert.h"
#include "host/lua/guard.h"

namespace rtrain::cli {
namespace {

constexpr double kTimeoutS = 30;

std::string& requeue_command() {
  static auto* command = new std::string;  // outlives the handlers of exit()
  return *command;
}

// Returns the problem, or "" if the scheduler has accepted the command. A scheduler may kill the
// command and this process at once: then nothing is printed.
std::string problem_of_requeue() {
  try {
    loop::CommandOutput command(cat("{ ", requeue_command(), "; } 2>&1 || exit; echo done"));
    if (!command.finish(kTimeoutS)) return cat("no end after ", kTimeoutS, " s");
    const std::string text(trim(command.text()));
    return text.ends_with("done") ? "" : text;
  } catch (const Error& e) {
    return e.message();
  }
}

void on_end(int code, void*) {
  if (code != exit_code(Code::kPreempted)) return;
  const std::string problem = problem_of_requeue();
  if (problem.empty()) return;
  std::cerr << "rtrain: the job does not start again by itself: " << requeue_command() << ": "
            << problem << "\n";
}

}  // namespace

std::string find_requeue_command(lua::State& state, const std::string& launcher) {
  lua_getglobal(state, "require");
  lua_pushstring(state, "rtrain.launch");
  lua::protected_call(state, 1, 1);
  lua_getfield(state, -1, "requeue_command");
  lua::push_value(state, launcher.empty() ? Value() : Value(launcher));
  lua::protected_call(state, 1, 1);
  const Value command = lua::to_value(state, -1, "the command");
  lua_pop(state, 2);
  return command.string_or("");
}

void requeue_when_preempted(const std::string& command) {
  if (command.empty()) return;
  requeue_command() = command;
  on_exit(on_end, nullptr);
}

}  // namespace rtrain::cli
