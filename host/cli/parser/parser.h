// host/cli/parser/parser.h: what a command line is made of: commands with their arguments, options
// and flags. CLI11 parses; its header takes seconds to compile, so parser.cpp alone includes it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "host/base/error.h"
#include "host/cli/parser/command_table.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace rtrain {

// Where a value goes. It outlives the parser: a command keeps its values in what its action holds.
using OptionTarget =
    std::variant<bool*, int*, int64_t*, double*, std::string*, std::vector<std::string>*,
                 std::optional<int>*, std::optional<double>*, std::optional<std::string>*>;

// What shells offer for the values of an option, or for the words of an argument.
using OfferMap = std::map<const CLI::Option*, std::vector<Offer>>;

// One argument, option or flag of a command, and what its values may be.
class Option {
 public:
  Option(CLI::Option* option, OfferMap* offers) : option_(option), offers_(offers) {}

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
  // Is refused without the other one.
  Option& needs(const Option& other);
  // What a shell offers, where neither one_of() nor the value's name says it (FILE, FOLDER, RUN,
  // TAG and METRIC do). then_offers: for the next word of an argument that takes several; the last
  // one stands for all that follow.
  Option& offers(const Offer& offer);
  Option& then_offers(const Offer& offer);

 private:
  CLI::Option* option_;
  OfferMap* offers_;
};

// One command. Copies speak of the same one.
class Command {
 public:
  Command(CLI::App* app, OfferMap* offers) : app_(app), offers_(offers) {}

  // A positional argument.
  Option argument(const std::string& name, OptionTarget target, const std::string& help);
  // `names` as they are typed: "-n,--num-workers".
  Option option(const std::string& names, OptionTarget target, const std::string& help);
  Option flag(const std::string& names, bool* target, const std::string& help);
  // A flag that calls a function.
  Option flag(const std::string& names, const std::function<void()>& call, const std::string& help);
  // A flag by the name that it had before: it is hidden, works, and names `now` on stderr.
  Option old_flag(const std::string& names, bool* target, const std::string& now);
  // The same of an option.
  Option old_option(const std::string& names, OptionTarget target, const std::string& now);
  // A flag that may have a value, behind a "=".
  Option flag_or_value(const std::string& names, std::string* target, const std::string& help);
  // What follows the first argument belongs to the script, also when it looks like an option.
  void leave_the_rest();
  // The text below the help.
  void footer(const std::string& text);
  // A command below this one, `checkpoint verify`, of which one has to be given.
  Command command(const std::string& name, const std::string& summary);
  // Neither the help nor shells name it.
  void hide();
  // What the action throws comes out as what this makes of it. Before action().
  void explain_errors(std::function<Error(const Error&)> explain) { explain_ = std::move(explain); }
  // What the command does, once everything is parsed and checked. Its errors leave parse().
  void action(const std::function<void()>& run);

 private:
  CLI::App* app_;
  OfferMap* offers_;
  std::function<Error(const Error&)> explain_;
};

class Parser {
 public:
  // `licenses` makes the text that --licenses prints, with --version or without.
  Parser(const std::string& program, const std::string& summary, const std::string& version,
         const std::function<std::string()>& licenses);
  ~Parser();

  // The heading in the help of the commands that follow.
  void group(const std::string& heading) { heading_ = heading; }
  Command command(const std::string& name, const std::string& summary);
  // A command by the name that it had before: it is hidden, works, and names `now`, what to type
  // instead, on stderr.
  Command old_command(const std::string& name, const std::string& now);
  // Below the list of commands.
  void footer(const std::string& text);
  std::string help() const;
  // What the help is made of: for completion and man pages.
  CommandTable table() const;
  // Parses the words after the program's name and runs the command they ask for: its name. --help,
  // --version and --licenses print their text instead: "". Throws Error(kUsage) with "did you mean"
  // for a line that does not parse.
  std::string parse(const std::vector<std::string>& args);

 private:
  std::unique_ptr<CLI::App> app_;
  std::unique_ptr<OfferMap> offers_;  // commands and their options point to it
  std::string program_;
  std::string heading_;
};

}  // namespace rtrain
