#include "host/cli/unknown_name.h"

#include <algorithm>

#include "host/base/text.h"

namespace rtrain {
namespace {

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) {
    if (!command->get_group().empty()) names.push_back(command->get_name());
  }
  return names;
}

// "--json", "-f", as they are typed.
std::vector<std::string> option_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
  }
  return names;
}

std::string unknown_option(const CLI::App& command, std::span<const std::string> args) {
  const std::vector<std::string> known = option_names(command);
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

}  // namespace

std::string explain_parse_error(const CLI::App& app, std::span<const std::string> args,
                                const CLI::ParseError& error) {
  const auto command_name = std::find_if(
      args.begin(), args.end(), [](const std::string& arg) { return !arg.starts_with("-"); });
  const CLI::App* command = &app;
  if (command_name != args.end()) {
    const auto found = app.get_subcommands(
        [&](const CLI::App* each) { return each->get_name() == *command_name; });
    if (found.empty()) {
      return cat("unknown command '", *command_name, "'",
                 suggestion(*command_name, command_names(app)));
    }
    command = found.front();
  }
  const std::string option = unknown_option(*command, args);
  if (option.empty()) return error.what();
  return cat("unknown option '", option, "'", suggestion(option, option_names(*command)));
}

}  // namespace rtrain
