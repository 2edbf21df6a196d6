// host/cli/tool/completion_scripts.h: makes the script with which a shell completes rtrain's
// command lines, from the command table. Pure functions.
//
// The scripts query the store with `rtrain --complete` (host/cli/tool/complete.cpp).
#pragma once

#include <string>

#include "host/cli/parser/command_table.h"

namespace rtrain::cli {

std::string bash_completion(const CommandTable& table);
std::string zsh_completion(const CommandTable& table);
std::string fish_completion(const CommandTable& table);

// Returns a table in which a command with sub-commands is a single command: the sub-command is its
// first argument, and it has the options of all sub-commands.
CommandTable flattened(const CommandTable& table);

// Returns for example "runs", the name of the source in the scripts.
std::string source_name(Source source);

}  // namespace rtrain::cli
