#include "host/cli/runs/far_command.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/bind/modules.h"
#include "host/lua/convert.h"
#include "host/lua/guard.h"
#include "host/lua/require.h"
#include "host/lua/state.h"
#include "host/store/claim/run_name.h"
#include "host/store/files/file.h"
#include "host/store/files/state_folder.h"

namespace rtrain::cli {
namespace {

constexpr std::array<std::string_view, 9> kCommands = {
    "logs", "show", "metrics", "plot", "watch", "stop", "stack", "profile", "checkpoint"};

// Asked first, without Lua: nearly always there is no such run.
bool may_be_far(const std::vector<std::string>& words) {
  const std::string folder = store::state_folder() + "/nodes/";
  return std::ranges::any_of(words, [&](const std::string& word) {
    return store::run_name_problem(word).empty() && store::path_exists(folder + word);
  });
}

bool is_about_runs(const std::vector<std::string>& words) {
  if (words.empty() || std::ranges::find(kCommands, words.front()) == kCommands.end()) return false;
  return std::ranges::none_of(words, [](const std::string& word) {
    return word == "--storage" || word.starts_with("--storage=");
  });
}

// Calls rtrain.nodes.far_runs.command, in Lua.
Value command_there(const std::vector<std::string>& words) {
  lua::State state;
  bind::add_host_modules(state);
  lua::push_module_function(state, "rtrain.nodes.far_runs", "command");
  lua::push_value(state, List(words.begin(), words.end()));
  lua::push_value(state, isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1);
  lua::protected_call(state, 2, 1);
  return lua::to_value(state, -1, "the command");
}

}  // namespace

void become_far_command(const std::vector<std::string>& command_line) {
  const std::vector<std::string> words(command_line.begin() + 1, command_line.end());
  if (!is_about_runs(words) || !may_be_far(words)) return;
  const Value command = command_there(words);
  if (command.is_nil()) return;
  std::vector<char*> args;
  for (const Value& word : command.as_list()) {
    args.push_back(const_cast<char*>(word.as_string().c_str()));
  }
  args.push_back(nullptr);
  execvp(args.front(), args.data());
  throw Error(Code::kEnvironment,
              cat("cannot start ", args.front(), ": ", std::string_view(std::strerror(errno))));
}

}  // namespace rtrain::cli
