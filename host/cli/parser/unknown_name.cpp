#include "host/cli/parser/unknown_name.h"

#include <algorithm>

#include "host/base/text/text.h"

namespace rtrain {
namespace {

std::string unknown_option(const std::vector<std::string>& known,
                           std::span<const std::string> args) {
  for (const std::string& arg : args) {
    if (arg == "--") break;
    if (arg.size() < 2 || arg.front() != '-' || std::isdigit(static_cast<unsigned char>(arg[1])))
      continue;
    const bool is_long = arg.starts_with("--");
    const std::string name = is_long ? arg.substr(0, arg.find('=')) : arg.substr(0, 2);
    if (std::find(known.begin(), known.end(), name) == known.end()) return name;
  }
  return {};
}

std::string unknown_command(const KnownNames& known, const std::string& name) {
  std::vector<std::string> names;
  for (const auto& [command, options] : known.commands) names.push_back(command);
  return cat("unknown command '", name, "'", suggestion(name, names));
}

}  // namespace

std::string explain_unknown_name(const KnownNames& known, std::span<const std::string> args) {
  const std::vector<std::string>* options = &known.options;
  const auto name = std::find_if(args.begin(), args.end(),
                                 [](const std::string& arg) { return !arg.starts_with("-"); });
  if (name != args.end()) {
    const auto command = std::find_if(known.commands.begin(), known.commands.end(),
                                      [&](const auto& each) { return each.first == *name; });
    if (command == known.commands.end()) return unknown_command(known, *name);
    options = &command->second;
  }
  const std::string option = unknown_option(*options, args);
  if (option.empty()) return {};
  return cat("unknown option '", option, "'", suggestion(option, *options));
}

}  // namespace rtrain
