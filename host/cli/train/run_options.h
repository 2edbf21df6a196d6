// host/cli/train/run_options.h: what `rtrain run` and `rtrain launch` share: the options of a run,
// and what is around the script or program: signals, the job of a launcher, its queue.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "host/base/value.h"
#include "host/cli/parser/parser.h"
#include "host/lua/state.h"

namespace rtrain {

struct RunOptions {
  std::string file;
  std::vector<std::string> args;
  std::optional<int> num_workers;
  std::optional<int> max_failures;
  std::optional<int> seed;
  std::optional<int> limit_batches;
  std::optional<int> overfit;
  std::vector<std::string> set;
  std::vector<std::string> tags;
  std::string name;
  std::string storage;
  std::string note;
  std::string resume;
  std::string gpus;
  std::string launcher;
  bool deterministic = false;
  bool oversubscribe = false;
  bool quiet = false;
  bool json = false;
};

// Those that both commands have, but for FILE and its arguments.
void add_run_options(Command& command, RunOptions& options);

// What fit() takes over what the script says; the fields are those of
// modules/rtrain/run/command_flags.lua, others raise.
void set_command_flags(lua_State* L, const Map& flags);

// `train` is called with a state that has the command's flags, in the process that
// trains; a process of a job that serves another one's run ends in here.
void run_with(const RunOptions& options, const std::vector<std::string>& command_line,
              const std::function<void(State& state)>& train);

}  // namespace rtrain
