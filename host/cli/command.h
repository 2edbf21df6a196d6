// host/cli/command.h: what a command is: a function that adds itself to the parser. One file per
// command.
#pragma once

#include <CLI/CLI.hpp>

namespace rtrain {

// A command sets this to its exit code when it ends; an Error it throws is printed by the caller.
struct CommandResult {
  int exit_code = 0;
};

void add_exec(CLI::App& app, CommandResult& result);

}  // namespace rtrain
