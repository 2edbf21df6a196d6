// rtrain completion SHELL: prints the script with which a shell completes rtrain's command lines.
#include <iostream>
#include <memory>
#include <set>
#include <utility>

#include "host/base/error.h"
#include "host/cli/parser/command.h"
#include "host/cli/tool/completion_scripts.h"

namespace rtrain::cli {

std::string source_name(Source source) {
  switch (source) {
    case Source::kFiles:
      return "files";
    case Source::kFolders:
      return "folders";
    case Source::kRuns:
      return "runs";
    case Source::kMetrics:
      return "metrics";
    case Source::kTags:
      return "tags";
    case Source::kCheckpoints:
      return "checkpoints";
  }
  RT_CHECK(false);
}

namespace {

CommandRow flattened(const CommandRow& command) {
  CommandRow out = command;
  if (command.commands.empty()) return out;
  ArgumentRow name{.name = "COMMAND", .help = command.summary, .required = true};
  name.places.emplace_back();
  std::set<std::vector<std::string>> known;  // the names of known options
  for (const OptionRow& option : command.options) known.insert(option.names);
  std::vector<ArgumentRow> longest;
  for (const CommandRow& below : command.commands) {
    name.places.front().words.push_back(below.name);
    if (below.arguments.size() > longest.size()) longest = below.arguments;
    for (const OptionRow& option : below.options) {
      if (known.insert(option.names).second) out.options.push_back(option);
    }
  }
  out.arguments = {std::move(name)};
  out.arguments.insert(out.arguments.end(), longest.begin(), longest.end());
  return out;
}

}  // namespace

CommandTable flattened(const CommandTable& table) {
  CommandTable out = table;
  for (CommandRow& command : out.commands) command = flattened(command);
  return out;
}

void add_completion(Parser& parser) {
  auto shell = std::make_shared<std::string>();
  Command command =
      parser.command("completion", "Print what makes bash, zsh or fish complete rtrain's commands");
  command.argument("SHELL", shell.get(), "bash, zsh or fish")
      .required()
      .one_of({"bash", "zsh", "fish"});
  command.footer(
      "bash: source <(rtrain completion bash)             in ~/.bashrc\n"
      "zsh:  source <(rtrain completion zsh)              in ~/.zshrc, after compinit\n"
      "fish: rtrain completion fish | source              in ~/.config/fish/config.fish\n"
      "Names of runs, metrics, tags and checkpoints come from the store that --storage or\n"
      "RTRAIN_STORAGE names.");
  command.action([shell, &parser] {
    const CommandTable table = flattened(parser.table());
    if (*shell == "bash") std::cout << bash_completion(table);
    if (*shell == "zsh") std::cout << zsh_completion(table);
    if (*shell == "fish") std::cout << fish_completion(table);
  });
}

}  // namespace rtrain::cli
