#include "host/cli/tool/man_page.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <span>
#include <string_view>

#include "host/base/text/text.h"
#include "host/cli/machine/variables.h"

namespace rtrain::cli {
namespace {

// The table in guide/failures, Exit codes, must be equal: tests/e2e/cli/test_man.py compares.
struct ExitStatus {
  int status;
  std::string_view meaning;
};

constexpr std::array kExitStatuses = {
    ExitStatus{0, "success"},
    ExitStatus{1, "the script or the train function raised"},
    ExitStatus{2, "wrong usage, unknown run"},
    ExitStatus{3, "wrong or unsupported configuration, name taken"},
    ExitStatus{4,
               "machine: no LibTorch, unwritable path, disk full, out of memory, damaged "
               "checkpoint"},
    ExitStatus{5, "a worker was lost, and no retries are left"},
    ExitStatus{6, "a hang, or a deadline that passed"},
    ExitStatus{70, "a bug of rtrain"},
    ExitStatus{75,
               "preempted (SIGTERM, time limit), checkpoint saved: run again with `--resume auto`"},
    ExitStatus{130, "interrupted (SIGINT, `rtrain stop`)"},
    ExitStatus{143, "terminated (SIGTERM), no checkpoint saved"}};

// Escapes text so that it is literal, also at the beginning of a line. Characters beyond ASCII
// become names, so the page needs no preprocessor.
std::string roff(std::string_view text) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kNames = {
      {{"\\", "\\e"},
       {"-", "\\-"},
       {"'", "\\(aq"},
       {"`", "\\(ga"},
       {"…", "..."},
       {"–", "\\(en"},
       {"×", "\\(mu"}}};
  std::string out;
  if (text.starts_with(".")) out = "\\&";
  while (!text.empty()) {
    const auto found = std::find_if(kNames.begin(), kNames.end(),
                                    [&](const auto& each) { return text.starts_with(each.first); });
    const size_t length = found == kNames.end() ? 1 : found->first.size();
    out += found == kNames.end() ? text.substr(0, 1) : found->second;
    text.remove_prefix(length);
  }
  return out;
}

std::string bold(std::string_view text) { return cat("\\fB", roff(text), "\\fR"); }
std::string italic(std::string_view text) { return cat("\\fI", roff(text), "\\fR"); }

std::string upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

std::string page_name(const CommandTable& table, const CommandRow& command) {
  return cat(table.program, "-", command.name);
}

std::string header(const CommandTable& table, const std::string& name, const std::string& summary) {
  return cat(".TH \"", roff(upper(name)), "\" 1 \"\" \"", roff(table.version),
             "\" \"User Commands\"\n.SH NAME\n", roff(name), " \\- ", roff(summary), "\n");
}

std::string entry(const std::string& tag, std::string_view text) {
  return cat(".TP\n", tag, "\n", roff(text), "\n");
}

std::string option_entries(const std::vector<OptionRow>& options) {
  std::string out;
  for (const OptionRow& option : options) {
    std::vector<std::string> names;
    for (const std::string& name : option.names) names.push_back(bold(name));
    const std::string value = option.value.empty() ? "" : cat(" ", italic(option.value));
    out += entry(cat(join(names, ", "), value), option.help);
  }
  return out;
}

// Returns for example "rtrain run [OPTIONS] FILE [ARGS...]".
std::string synopsis(const std::string& name, const CommandRow& command) {
  std::string out = cat(bold(name), " [", italic("OPTIONS"), "]");
  if (!command.commands.empty()) out += cat(" ", italic("COMMAND"));
  for (const ArgumentRow& argument : command.arguments) {
    const std::string word = cat(italic(argument.name), argument.repeats ? "..." : "");
    out += argument.required ? cat(" ", word) : cat(" [", word, "]");
  }
  return out + "\n";
}

// Keeps the lines of the text.
std::string note(const std::string& footer) {
  std::string out = ".nf\n";
  for (const std::string& line : split(footer, '\n')) {
    out += line.empty() ? ".PP\n" : cat(roff(line), "\n");
  }
  return out + ".fi\n";
}

std::string argument_entries(const CommandRow& command) {
  std::string out;
  for (const ArgumentRow& argument : command.arguments) {
    out += entry(italic(argument.name), argument.help);
  }
  return out;
}

std::string environment() {
  std::string out = ".SH ENVIRONMENT\n";
  std::string_view group;
  for (const Variable& variable : variables()) {
    if (variable.group != group) out += cat(".SS \"", roff(variable.group), "\"\n");
    group = variable.group;
    const std::string otherwise =
        variable.otherwise.empty() ? "" : cat(" (", variable.otherwise, ")");
    out += entry(bold(variable.name), cat(variable.meaning, otherwise));
  }
  return out;
}

std::string reference(const std::string& name) { return cat("\\fB", roff(name), "\\fR(1)"); }

}  // namespace

std::string man_page(const CommandTable& table) {
  std::string out = header(table, table.program, table.summary);
  out += cat(".SH SYNOPSIS\n", bold(table.program), " ", italic("COMMAND"), " [", italic("OPTIONS"),
             "] [", italic("ARGUMENTS"), "]\n.SH COMMANDS\n");
  for (const CommandRow& command : table.commands) {
    out += entry(reference(page_name(table, command)), command.summary);
  }
  out += cat(".SH OPTIONS\n", option_entries(table.options), ".SH \"EXIT STATUS\"\n");
  for (const ExitStatus& each : kExitStatuses) out += entry(bold(cat(each.status)), each.meaning);
  return out + environment();
}

std::string man_page(const CommandTable& table, const CommandRow& command) {
  const std::string name = cat(table.program, " ", command.name);
  std::string out = header(table, page_name(table, command), command.summary);
  out += cat(".SH SYNOPSIS\n", synopsis(name, command));
  if (!command.arguments.empty()) out += ".SH ARGUMENTS\n";
  out += argument_entries(command);
  out += cat(".SH OPTIONS\n", option_entries(command.options));
  for (const CommandRow& below : command.commands) {
    out += cat(".SH \"", roff(upper(below.name)), "\"\n", roff(below.summary), "\n.PP\n",
               synopsis(cat(name, " ", below.name), below), argument_entries(below),
               option_entries(below.options));
    if (!below.footer.empty()) out += note(below.footer);
  }
  if (!command.footer.empty()) out += cat(".SH NOTES\n", note(command.footer));
  return cat(out, ".SH \"SEE ALSO\"\n", reference(table.program), "\n");
}

}  // namespace rtrain::cli
