// host/cli/train/run_options.h: shared by `rtrain run` and `rtrain launch`: the options of a run,
// and the setup around the script or program: signals, a launcher's job, its queue.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/base/codec/record.h"
#include "host/cli/parser/parser.h"
#include "host/lua/state.h"

namespace rtrain::cli {

struct RunOptions {
  std::string file;
  std::vector<std::string> args;
  std::optional<int> num_workers;
  std::optional<int> max_failures;
  std::optional<int64_t> seed;
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

// Adds the options of both commands, except FILE and its arguments.
void add_run_options(Command& command, RunOptions& options);

// Returns the error for a wrong value of --gpus, or "".
std::string gpus_error(const std::string& text);

// The command's options, which override the script's in fit(); modules/rtrain/run/command_flags.lua
// keeps them.
struct CommandFlags {
  static constexpr std::string_view kClass = "CommandFlags";
  std::optional<std::string> script = {};
  std::optional<std::vector<std::string>> command = {};
  std::vector<std::string> set = {};
  std::vector<std::string> tags = {};
  std::optional<std::string> note = {};
  std::optional<std::string> name = {};
  std::optional<std::string> storage = {};
  std::optional<std::string> resume = {};
  std::optional<int> num_workers = {};
  std::optional<std::string> gpus = {};
  std::optional<int> max_failures = {};
  std::optional<int64_t> seed = {};
  std::optional<bool> deterministic = {};
  std::optional<int64_t> limit_batches = {};
  std::optional<int> overfit = {};
  std::optional<std::string> launcher = {};
  std::optional<bool> oversubscribe = {};
  std::optional<bool> quiet = {};
  std::optional<bool> terminal = {};  // whether stderr is a terminal
  std::optional<int> events_fd = {};
  std::optional<bool> has_agents = {};
  std::optional<Value> tryout = {};

  static constexpr RecordFields kFields{optional("script", &CommandFlags::script),
                                        optional("command", &CommandFlags::command),
                                        required("set", &CommandFlags::set),
                                        required("tags", &CommandFlags::tags),
                                        optional("note", &CommandFlags::note),
                                        optional("name", &CommandFlags::name),
                                        optional("storage", &CommandFlags::storage),
                                        optional("resume", &CommandFlags::resume),
                                        optional("num_workers", &CommandFlags::num_workers),
                                        optional("gpus", &CommandFlags::gpus),
                                        optional("max_failures", &CommandFlags::max_failures),
                                        optional("seed", &CommandFlags::seed),
                                        optional("deterministic", &CommandFlags::deterministic),
                                        optional("limit_batches", &CommandFlags::limit_batches),
                                        optional("overfit", &CommandFlags::overfit),
                                        optional("launcher", &CommandFlags::launcher),
                                        optional("oversubscribe", &CommandFlags::oversubscribe),
                                        optional("quiet", &CommandFlags::quiet),
                                        optional("terminal", &CommandFlags::terminal),
                                        optional("events_fd", &CommandFlags::events_fd),
                                        optional("has_agents", &CommandFlags::has_agents),
                                        optional("tryout", &CommandFlags::tryout)};
};
void set_command_flags(lua_State* L, CommandFlags flags);

// The words of these options on a command line, without FILE and its arguments: another process of
// rtrain is to run with them.
std::vector<std::string> words_of(const RunOptions& options);

// Calls `train` with a state that has the command's flags, in the process that trains. A process
// that serves another one's run in a job ends inside this call.
void run_with(const RunOptions& options, const std::vector<std::string>& command_line,
              const std::function<void(lua::State& state)>& train);

}  // namespace rtrain::cli
