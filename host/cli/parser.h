// host/cli/parser.h: what a command line is made of: commands with their arguments, options and
// flags. CLI11 parses; its header takes seconds to compile, so parser.cpp alone includes it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace rtrain {

// Where a value goes. It outlives the parser: a command keeps its values in what its action holds.
using OptionTarget =
    std::variant<bool*, int*, int64_t*, double*, std::string*, std::vector<std::string>*,
                 std::optional<int>*, std::optional<std::string>*>;

// One argument, option or flag of a command, and what its values may be.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}

  Option& required();
  // What the help calls the value: "N" or "KEY=VALUE".
  Option& value_name(const std::string& name);
  // Given once for each value.
  Option& repeatable();
  Option& at_least(int least);
  Option& within(double least, double most);
  Option& one_of(const std::vector<std::string>& values);
  // `message` returns what is wrong with a value, or "".
  Option& check(const std::function<std::string(const std::string&)>& message);
  Option& excludes(const Option& other);

 private:
  CLI::Option* option_;
};

// One command. Copies speak of the same one.
class Command {
 public:
  explicit Command(CLI::App* app) : app_(app) {}

  // A positional argument.
  Option argument(const std::string& name, OptionTarget target, const std::string& help);
  // `names` as they are typed: "-n,--num-workers".
  Option option(const std::string& names, OptionTarget target, const std::string& help);
  Option flag(const std::string& names, bool* target, const std::string& help);
  // A flag that calls a function.
  Option flag(const std::string& names, const std::function<void()>& call, const std::string& help);
  // What follows the first argument belongs to the script, also when it looks like an option.
  void leave_the_rest();
  // The text below the help.
  void footer(const std::string& text);
  // What the command does, once everything is parsed and checked. Its errors leave parse().
  void action(const std::function<void()>& run);

 private:
  CLI::App* app_;
};

class Parser {
 public:
  Parser(const std::string& program, const std::string& summary, const std::string& version);
  ~Parser();

  Command command(const std::string& name, const std::string& summary);
  std::string help() const;
  // Parses the words after the program's name and runs the command they ask for: its name. --help
  // and --version print their text instead: "". Throws Error(kUsage) with "did you mean" for a line
  // that does not parse.
  std::string parse(const std::vector<std::string>& args);

 private:
  std::unique_ptr<CLI::App> app_;
};

}  // namespace rtrain
