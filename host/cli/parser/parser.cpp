#include "host/cli/parser/parser.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <iostream>
#include <limits>
#include <optional>
#include <type_traits>

#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/cli/parser/unknown_name.h"

namespace rtrain::cli {
namespace {

// The group of old option names. Without a group CLI11 would hide an option, and then also omit its
// name in messages.
constexpr const char* kOldNames = "Old names";

bool is_hidden(const CLI::Option& option) {
  return option.get_group().empty() || option.get_group() == kOldNames;
}

bool is_hidden(const CLI::App& command) { return command.get_group().empty(); }

class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_group(std::string group, bool is_positional,
                         std::vector<const CLI::Option*> options) const override {
    return group == kOldNames ? "" : CLI::Formatter::make_group(group, is_positional, options);
  }
};

KnownNames known_names(const CLI::App& app) {
  KnownNames known{.name = app.get_name(), .is_hidden = is_hidden(app)};
  for (const CLI::Option* option : app.get_options()) {
    auto& names = is_hidden(*option) ? known.hidden_options : known.options;
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
  }
  for (const CLI::App* command : app.get_subcommands({})) {
    known.commands.push_back(known_names(*command));
  }
  return known;
}

// Returns the candidates that follow from a value's name in the help.
Offer offer_of(const std::string& value) {
  static const std::map<std::string, Source> kSources = {
      {"ARGS", Source::kFiles}, {"FILE", Source::kFiles},    {"FOLDER", Source::kFolders},
      {"PATH", Source::kFiles}, {"RUN", Source::kRuns},      {"NAME|FILE", Source::kFiles},
      {"TAG", Source::kTags},   {"METRIC", Source::kMetrics}};
  const auto found = kSources.find(value);
  return found == kSources.end() ? Offer() : Offer{.sources = {found->second}};
}

std::vector<Offer> offers_for(const CLI::Option& option, const std::string& value,
                              const OfferMap& offers) {
  const auto found = offers.find(&option);
  return found == offers.end() ? std::vector{offer_of(value)} : found->second;
}

template <class T>
constexpr bool kIsText =
    std::is_same_v<T, std::string> || std::is_same_v<T, std::vector<std::string>> ||
    std::is_same_v<T, std::optional<std::string>>;

std::vector<OptionRow> option_rows(const CLI::App& command, const OfferMap& offers) {
  std::vector<OptionRow> rows;
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_positional() || is_hidden(*option)) continue;
    OptionRow row;
    for (const std::string& name : option->get_snames()) row.names.push_back("-" + name);
    for (const std::string& name : option->get_lnames()) row.names.push_back("--" + name);
    row.help = option->get_description();
    if (option->get_items_expected_max() > 0) {
      row.value = split(option->get_type_name(), ':').front();  // a range may follow
      row.repeats = option->get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll;
    }
    // A flag may also have a value, after "=".
    if (!row.value.empty() || offers.contains(option)) {
      row.offer = offers_for(*option, row.value, offers).front();
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<ArgumentRow> argument_rows(const CLI::App& command, const OfferMap& offers) {
  std::vector<ArgumentRow> rows;
  for (const CLI::Option* option : command.get_options()) {
    if (!option->get_positional()) continue;
    const std::string name = option->get_name(/*positional=*/true);
    rows.push_back({name, option->get_description(), option->get_required(),
                    option->get_items_expected_max() > 1, offers_for(*option, name, offers)});
  }
  return rows;
}

template <class T>
struct NumberOf {
  using type = T;
};
template <class T>
struct NumberOf<std::optional<T>> {
  using type = T;
};

// CLI11 replaces a whole number that has more than 64 bits by the nearest one.
template <class Whole>
std::string size_problem(const std::string& text) {
  Whole number = 0;
  const auto status = std::from_chars(text.data(), text.data() + text.size(), number).ec;
  if (status != std::errc::result_out_of_range) return "";
  return cat(text, " is not from ", std::numeric_limits<Whole>::min(), " to ",
             std::numeric_limits<Whole>::max());
}

}  // namespace

Option& Option::required() {
  option_->required();
  return *this;
}

Option& Option::value_name(const std::string& name) {
  option_->type_name(name);
  return *this;
}

Option& Option::repeatable() {
  option_->allow_extra_args(false)->take_all();
  return *this;
}

Option& Option::at_least(int least) {
  option_->check(CLI::Range(int64_t{least}, INT64_MAX).description(""));
  return *this;
}

Option& Option::within(double least, double most) {
  option_->check(CLI::Range(least, most).description(""));
  return *this;
}

Option& Option::one_of(const std::vector<std::string>& values) {
  check([values](const std::string& given) {
    if (std::find(values.begin(), values.end(), given) != values.end()) return std::string();
    return cat("unknown '", given, "'", suggestion(given, values));
  });
  return offers({.words = values});
}

Option& Option::check(const std::function<std::string(const std::string&)>& message) {
  option_->check(CLI::Validator(message, ""));
  return *this;
}

Option& Option::excludes(const Option& other) {
  option_->excludes(other.option_);
  // CLI11 makes exclusion mutual, and the other option's help would then list an old name.
  if (is_hidden(*option_)) other.option_->remove_excludes(option_);
  return *this;
}

Option& Option::needs(const Option& other) {
  option_->needs(other.option_);
  return *this;
}

Option& Option::offers(const Offer& offer) {
  (*offers_)[option_] = {offer};
  return *this;
}

Option& Option::then_offers(const Offer& offer) {
  std::vector<Offer>& places = (*offers_)[option_];
  if (places.empty()) places.push_back(offer_of(option_->get_name(/*positional=*/true)));
  places.push_back(offer);
  return *this;
}

Option Command::argument(const std::string& name, OptionTarget target, const std::string& help) {
  return option(name, target, help);
}

Option Command::option(const std::string& names, OptionTarget target, const std::string& help) {
  return std::visit(
      [&](auto* value) {
        CLI::Option* option = app_->add_option(names, *value, help);
        using Target = std::decay_t<decltype(*value)>;
        using Number = typename NumberOf<Target>::type;
        if constexpr (!kIsText<Target>) option->type_name("N");
        if constexpr (std::is_same_v<Number, int> || std::is_same_v<Number, int64_t>) {
          option->check(CLI::Validator(size_problem<Number>, ""));
        }
        return Option(option, offers_);
      },
      target);
}

Option Command::flag(const std::string& names, bool* target, const std::string& help) {
  return Option(app_->add_flag(names, *target, help), offers_);
}

Option Command::flag(const std::string& names, const std::function<void()>& call,
                     const std::string& help) {
  return Option(app_->add_flag_callback(names, call, help), offers_);
}

namespace {

void say_new_name(const std::string& old, const std::string& now) {
  std::cerr << "rtrain: " << old << " is " << now
            << " now; the old name goes with the next version\n";
}

}  // namespace

Option Command::old_flag(const std::string& names, bool* target, const std::string& now) {
  CLI::Option* option = app_->add_flag_callback(names, [names, target, now] {
    *target = true;
    say_new_name(names, now);
  });
  return Option(option->group(kOldNames), offers_);
}

Option Command::old_option(const std::string& names, OptionTarget target, const std::string& now) {
  return std::visit(
      [&](auto* value) {
        CLI::Option* option = app_->add_option(names, *value)->group(kOldNames);
        option->each([names, now](const std::string&) { say_new_name(names, now); });
        return Option(option, offers_);
      },
      target);
}

Option Command::flag_or_value(const std::string& names, std::string* target,
                              const std::string& help) {
  return Option(app_->add_flag(names, *target, help), offers_);
}

void Command::leave_the_rest() { app_->positionals_at_end(); }

void Command::footer(const std::string& text) { app_->footer(text); }

Command Command::command(const std::string& name, const std::string& summary) {
  app_->require_subcommand(1);
  return Command(app_->add_subcommand(name, summary)->group("Commands"), offers_);
}

void Command::hide() { app_->group(""); }

void Command::action(const std::function<void()>& run) {
  if (!explain_) {
    app_->final_callback(run);
    return;
  }
  app_->final_callback([run, explain = explain_] {
    try {
      run();
    } catch (const Error& e) {
      throw explain(e);
    }
  });
}

Parser::Parser(const std::string& program, const std::string& summary, const std::string& version,
               const std::function<std::string()>& licenses)
    : app_(std::make_unique<CLI::App>(summary, program)),
      offers_(std::make_unique<OfferMap>()),
      program_(program) {
  app_->require_subcommand(1);
  app_->formatter(std::make_shared<HelpFormatter>());
  app_->get_formatter()->label("REQUIRED", "");
  app_->get_formatter()->label("SUBCOMMAND", "COMMAND");
  // Added before --version, because of two flags that print a text CLI11 uses the first.
  app_->add_flag_callback(
      "--licenses", [licenses] { throw CLI::CallForVersion(licenses(), 0); },
      "with --version: the licences of all that is inside");
  app_->set_version_flag("--version", version);
}

Parser::~Parser() = default;

Command Parser::command(const std::string& name, const std::string& summary) {
  return Command(app_->add_subcommand(name, summary)->group(heading_), offers_.get());
}

Command Parser::old_command(const std::string& name, const std::string& now) {
  CLI::App* command = app_->add_subcommand(name, cat("Now `", program_, " ", now, "`"));
  command->group("");
  command->parse_complete_callback([program = program_, name, now] {
    say_new_name(cat("`", program, " ", name, "`"), cat("`", program, " ", now, "`"));
  });
  return Command(command, offers_.get());
}

namespace {

std::vector<CommandRow> command_rows(const CLI::App& app, const OfferMap& offers) {
  std::vector<CommandRow> rows;
  for (const CLI::App* command : app.get_subcommands({})) {
    if (is_hidden(*command)) continue;
    rows.push_back({.name = command->get_name(),
                    .summary = command->get_description(),
                    .footer = command->get_footer(),
                    .leaves_the_rest = command->get_positionals_at_end(),
                    .arguments = argument_rows(*command, offers),
                    .options = option_rows(*command, offers),
                    .commands = command_rows(*command, offers)});
  }
  return rows;
}

}  // namespace

CommandTable Parser::table() const {
  return {app_->get_name(), app_->get_description(), app_->version(), option_rows(*app_, *offers_),
          command_rows(*app_, *offers_)};
}

void Parser::footer(const std::string& text) { app_->footer(text); }

std::string Parser::help() const { return app_->help(); }

namespace {

const CLI::App* find_command(const CLI::App& app, const std::string& name) {
  for (const CLI::App* command : app.get_subcommands({})) {
    if (command->get_name() == name) return command;
  }
  return nullptr;
}

// Returns the commands in the words: "", " ls", " checkpoint verify".
std::string named_commands(const CLI::App& app, const std::vector<std::string>& args) {
  std::string out;
  const CLI::App* at = &app;
  for (const std::string& arg : args) {
    if (arg.starts_with("-")) continue;
    at = find_command(*at, arg);
    if (at == nullptr) break;
    out += cat(" ", arg);
  }
  return out;
}

// Translates `help` and `help COMMAND`, which other programs have.
std::vector<std::string> without_help_command(const CLI::App& app,
                                              const std::vector<std::string>& args) {
  if (args.empty() || args.front() != "help") return args;
  std::vector<std::string> out(args.begin() + 1, args.end());
  const CLI::App* at = &app;
  for (const std::string& word : out) {
    if (at->get_subcommands({}).empty()) break;
    at = find_command(*at, word);
    if (at == nullptr) return out;  // an unknown command is an error
  }
  out.emplace_back("--help");
  return out;
}

}  // namespace

std::string Parser::parse(const std::vector<std::string>& typed) {
  const std::vector<std::string> args = without_help_command(*app_, typed);
  try {
    app_->parse(std::vector(args.rbegin(), args.rend()));  // CLI11 reads them in reverse order
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) {
      app_->exit(e);  // prints the help or the version
      return "";
    }
    const std::string unknown = explain_unknown_name(known_names(*app_), args);
    std::string text = unknown.empty() ? e.what() : unknown;
    if (text.starts_with(": ")) text.erase(0, 2);  // hidden options have no name in the text
    throw Error(Code::kUsage,
                cat(text, "\nRun `", program_, named_commands(*app_, args), " --help`."));
  }
  return app_->get_subcommands().front()->get_name();
}

}  // namespace rtrain::cli
