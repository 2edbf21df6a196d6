#include "host/cli/parser/script_arguments.h"

#include <algorithm>

namespace rtrain::cli {
namespace {

// Appended to the argument, so that it does not end with the bracket. Users do not type this
// character.
constexpr char kMark = '\x01';

bool is_bracketed(const std::string& arg) { return arg.starts_with('[') && arg.ends_with(']'); }

}  // namespace

std::vector<std::string> mark_script_arguments(const std::vector<std::string>& command) {
  std::vector<std::string> args(command.begin() + 1, command.end());
  auto first = args.end();
  if (!args.empty() && (args.front() == "exec" || args.front() == "launch"))
    first = args.begin() + 1;
  if (!args.empty() &&
      (args.front() == "run" || args.front() == "submit" || args.front() == "sweep")) {
    first = std::find(args.begin(), args.end(), "--");
  }
  std::for_each(first, args.end(), [](std::string& arg) {
    if (is_bracketed(arg)) arg += kMark;
  });
  return args;
}

std::vector<std::string> unmarked(std::vector<std::string> args) {
  for (std::string& arg : args) {
    if (arg.starts_with('[') && arg.ends_with(kMark)) arg.pop_back();
  }
  return args;
}

}  // namespace rtrain::cli
