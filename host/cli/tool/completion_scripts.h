// host/cli/tool/completion_scripts.h: for each shell, the script that completes rtrain's command
// lines, with the names of the command table. Pure.
//
// The scripts get names from the store with `rtrain --complete` (host/cli/tool/complete.cpp).
#pragma once

#include <string>

#include "host/cli/parser/command_table.h"

namespace rtrain {

std::string bash_completion(const CommandTable& table);
std::string zsh_completion(const CommandTable& table);
std::string fish_completion(const CommandTable& table);

// The table with commands of two words as one word and its argument: all options of those below it
// are offered.
CommandTable flattened(const CommandTable& table);

// "runs", as a script asks for it.
std::string source_name(Source source);

}  // namespace rtrain
