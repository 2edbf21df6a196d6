#include "host/cli/parser/unknown_name.h"

#include <algorithm>

#include "host/base/text/text.h"

namespace rtrain::cli {
namespace {

bool has(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string unknown_option(const KnownNames& known, std::span<const std::string> args) {
  for (const std::string& arg : args) {
    if (arg == "--") break;
    if (arg.size() < 2 || arg.front() != '-' || std::isdigit(static_cast<unsigned char>(arg[1])))
      continue;
    const bool is_long = arg.starts_with("--");
    const std::string name = is_long ? arg.substr(0, arg.find('=')) : arg.substr(0, 2);
    if (!has(known.options, name) && !has(known.hidden_options, name)) return name;
  }
  return {};
}

std::string unknown_command(const KnownNames& known, const std::string& name) {
  std::vector<std::string> names;
  for (const KnownNames& command : known.commands) {
    if (!command.is_hidden) names.push_back(command.name);
  }
  return cat("unknown command '", name, "'", suggestion(name, names));
}

std::string missing_command(const KnownNames& known) {
  std::vector<std::string> names;
  for (const KnownNames& command : known.commands) names.push_back(command.name);
  return cat(known.name, ": give a command: ", join(names, ", "));
}

}  // namespace

std::string explain_unknown_name(const KnownNames& program, std::span<const std::string> args) {
  const KnownNames* known = &program;
  auto word = args.begin();
  while (!known->commands.empty()) {
    word = std::find_if(word, args.end(),
                        [](const std::string& arg) { return !arg.starts_with("-"); });
    if (word == args.end()) break;
    const auto command = std::find_if(known->commands.begin(), known->commands.end(),
                                      [&](const KnownNames& each) { return each.name == *word; });
    if (command == known->commands.end()) return unknown_command(*known, *word);
    known = &*command;
    ++word;
  }
  const std::string option = unknown_option(*known, args);
  const bool needs_command = known != &program && !known->commands.empty();
  if (option.empty() && needs_command) return missing_command(*known);
  if (option.empty()) return {};
  return cat("unknown option '", option, "'", suggestion(option, known->options));
}

}  // namespace rtrain::cli
