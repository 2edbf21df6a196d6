// host/cli/parser/script_arguments.h: passes a script's own arguments to it as typed.
//
// CLI11 splits an argument "[1,2]" as a list. So arguments of the script of `run`, `sweep`,
// `submit` or `exec` are marked before the command line is parsed, and the mark is removed
// afterwards.
#pragma once

#include <string>
#include <vector>

namespace rtrain::cli {

// Returns the command line without the program's name, with marks on the script's arguments that
// CLI11 would split.
std::vector<std::string> mark_script_arguments(const std::vector<std::string>& command);

// Returns the arguments without marks.
std::vector<std::string> unmarked(std::vector<std::string> args);

}  // namespace rtrain::cli
