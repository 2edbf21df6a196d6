// host/cli/parser/script_arguments.h: a script's own arguments reach it as they were typed.
//
// CLI11 takes an argument "[1,2]" for a list and splits it. What belongs to the script of `run`,
// `sweep`, `submit` or `exec` is therefore marked before the command line is parsed, and the mark
// taken off behind it.
#pragma once

#include <string>
#include <vector>

namespace rtrain {

// The command line without the program's name; the script's arguments that CLI11 would split are
// marked.
std::vector<std::string> mark_script_arguments(const std::vector<std::string>& command);

// The arguments without marks.
std::vector<std::string> unmarked(std::vector<std::string> args);

}  // namespace rtrain
