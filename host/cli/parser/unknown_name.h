// host/cli/parser/unknown_name.h: what to say about a command line with a command or an option that
// does not exist: the nearest one.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

namespace rtrain {

struct KnownNames {
  std::vector<std::string> options;  // of the program itself
  // Each command with its options, as they are typed.
  std::vector<std::pair<std::string, std::vector<std::string>>> commands;
};

// "unknown command 'lss'. did you mean 'ls'?", the same for options; "" when all names are known.
std::string explain_unknown_name(const KnownNames& known, std::span<const std::string> args);

}  // namespace rtrain
