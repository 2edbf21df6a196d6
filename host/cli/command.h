// host/cli/command.h: what a command is: a function that adds itself to the parser. One file per
// command.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace rtrain {

// A command sets this to its exit code when it ends; an Error it throws is printed by the caller.
struct CommandResult {
  int exit_code = 0;
  std::vector<std::string> command;  // the whole command line, for a run's record
};

void add_run(CLI::App& app, CommandResult& result);
void add_exec(CLI::App& app, CommandResult& result);
void add_ls(CLI::App& app, CommandResult& result);
void add_show(CLI::App& app, CommandResult& result);
void add_metrics(CLI::App& app, CommandResult& result);
void add_checkpoints(CLI::App& app, CommandResult& result);
void add_logs(CLI::App& app, CommandResult& result);
void add_sql(CLI::App& app, CommandResult& result);
void add_stop(CLI::App& app, CommandResult& result);
void add_stack(CLI::App& app, CommandResult& result);
void add_profile(CLI::App& app, CommandResult& result);
void add_repair(CLI::App& app, CommandResult& result);
void add_resources(CLI::App& app, CommandResult& result);
void add_env(CLI::App& app, CommandResult& result);
void add_doc(CLI::App& app, CommandResult& result);

// The process of one rank, `rtrain --worker RANK PARENT_PID`: started by a controller only. Returns
// its exit code.
int run_worker(int rank, int parent_pid);

}  // namespace rtrain
