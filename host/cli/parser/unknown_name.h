// host/cli/parser/unknown_name.h: suggestions for an unknown command or option in a command
// line.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace rtrain::cli {

// The names of a program, or of a command.
struct KnownNames {
  std::string name;
  bool is_hidden = false;                 // known, but never suggested
  std::vector<std::string> options = {};  // as typed
  std::vector<std::string> hidden_options = {};
  std::vector<KnownNames> commands = {};
};

// "unknown command 'lss': did you mean 'ls'?", and the same for options. If only the first word of
// a two-word command is given, lists the possible second words. "" if all names are known.
std::string explain_unknown_name(const KnownNames& program, std::span<const std::string> args);

}  // namespace rtrain::cli
