// host/cli/parser/parser.h: defines commands with their arguments, options and flags. CLI11 parses
// them; its header takes seconds to compile, so only parser.cpp includes it.
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

namespace rtrain::cli {

// Where a value is stored. It must outlive the parser: a command's action holds its values.
using OptionTarget =
    std::variant<bool*, int*, int64_t*, double*, std::string*, std::vector<std::string>*,
                 std::optional<int>*, std::optional<int64_t>*, std::optional<double>*,
                 std::optional<std::string>*>;

// The shell's candidates for values of an option or for words of an argument.
using OfferMap = std::map<const CLI::Option*, std::vector<Offer>>;

// One argument, option or flag of a command, with the constraints of its values.
class Option {
 public:
  Option(CLI::Option* option, OfferMap* offers) : option_(option), offers_(offers) {}

  Option& required();
  // The name of the value in the help: "N" or "KEY=VALUE".
  Option& value_name(const std::string& name);
  // May be given several times, once for each value.
  Option& repeatable();
  Option& at_least(int least);
  Option& within(double least, double most);
  Option& one_of(const std::vector<std::string>& values);
  // `message` returns the error for a value, or "".
  Option& check(const std::function<std::string(const std::string&)>& message);
  Option& excludes(const Option& other);
  // Requires the other option.
  Option& needs(const Option& other);
  // The shell's candidates, unless one_of() or the value's name determines them (FILE, FOLDER, RUN,
  // TAG and METRIC do). then_offers: for the next word of an argument that takes several; the last
  // call applies to all further words.
  Option& offers(const Offer& offer);
  Option& then_offers(const Offer& offer);

 private:
  CLI::Option* option_;
  OfferMap* offers_;
};

// One command. Copies refer to the same command.
class Command {
 public:
  Command(CLI::App* app, OfferMap* offers) : app_(app), offers_(offers) {}

  // A positional argument.
  Option argument(const std::string& name, OptionTarget target, const std::string& help);
  // `names` as typed: "-n,--num-workers".
  Option option(const std::string& names, OptionTarget target, const std::string& help);
  Option flag(const std::string& names, bool* target, const std::string& help);
  // A flag that calls a function.
  Option flag(const std::string& names, const std::function<void()>& call, const std::string& help);
  // An old name of a flag: hidden, but works, and prints the new name `now` to stderr.
  Option old_flag(const std::string& names, bool* target, const std::string& now);
  // The same for an option.
  Option old_option(const std::string& names, OptionTarget target, const std::string& now);
  // A flag with an optional value after "=".
  Option flag_or_value(const std::string& names, std::string* target, const std::string& help);
  // Words after the first argument belong to the script, even if they look like options.
  void leave_the_rest();
  // Sets the text below the help.
  void footer(const std::string& text);
  // Adds a sub-command, as in `checkpoint verify`. One of the sub-commands must be given.
  Command command(const std::string& name, const std::string& summary);
  // Hides the command in the help and in shell completion.
  void hide();
  // Replaces errors of the action by the result of this function. Call it before action().
  void explain_errors(std::function<Error(const Error&)> explain) { explain_ = std::move(explain); }
  // Sets the function that runs after parsing and checking. parse() throws its errors.
  void action(const std::function<void()>& run);

 private:
  CLI::App* app_;
  OfferMap* offers_;
  std::function<Error(const Error&)> explain_;
};

class Parser {
 public:
  // `licenses` returns the text of --licenses, with or without --version.
  Parser(const std::string& program, const std::string& summary, const std::string& version,
         const std::function<std::string()>& licenses);
  ~Parser();

  // The heading of the commands that are added next, in the help.
  void group(const std::string& heading) { heading_ = heading; }
  Command command(const std::string& name, const std::string& summary);
  // An old name of a command: hidden, but works, and prints the new name `now` to
  // stderr.
  Command old_command(const std::string& name, const std::string& now);
  // Sets the text below the list of commands.
  void footer(const std::string& text);
  std::string help() const;
  // The data for completion and manual pages.
  CommandTable table() const;
  // Parses the words after the program's name, runs the command and returns its name; "" for
  // --help, --version and --licenses, which print their text. Throws Error(kUsage) with "did you
  // mean" for words that do not parse.
  std::string parse(const std::vector<std::string>& args);

 private:
  std::unique_ptr<CLI::App> app_;
  std::unique_ptr<OfferMap> offers_;  // commands and their options point to it
  std::string program_;
  std::string heading_;
};

}  // namespace rtrain::cli
