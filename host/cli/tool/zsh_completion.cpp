#include "host/base/text/text.h"
#include "host/cli/tool/completion_scripts.h"

namespace rtrain::cli {
namespace {

// A zsh function sees the variables of its callers: `rtrain_words` are the program and all words up
// to the one being completed.
constexpr const char* kBegin = R"(#compdef rtrain
# Completion of rtrain for zsh, made by `rtrain completion zsh`.

# What the store has. A name is data: nothing in it is expanded.
_rtrain_ask() {
  local program=${rtrain_words[1]/#\~\//$HOME/} line
  local -a names shown open
  for line in "${(@f)$("$program" --complete $1 "${(Q)PREFIX}" "${(@Q)rtrain_words[2,-2]}" \
                       2> /dev/null)}"; do
    [[ -n $line ]] || continue
    if [[ $line == *:$'\t'* ]]; then
      open+=("${line%%$'\t'*}")
      continue
    fi
    names+=("${line%%$'\t'*}")
    shown+=("${line/$'\t'/  -- }")
  done
  compadd -V "$1" -l -d shown -a names
  compadd -V "$1" -S '' -a open
}

# Words that are in the table.
_rtrain_add() { compadd -- "$@" }

)";

// Calls _arguments in this function rather than in a separate one: `words` and `CURRENT`, which it
// changes, would be restored when that function ends.
constexpr const char* kMain = R"(
_rtrain() {
  local context state state_descr line curcontext=$curcontext
  typeset -A opt_args
  local -a rtrain_words=("${(@)words[1,CURRENT]}")
  _arguments -C -s -A '-*')";

constexpr const char* kEnd = R"( \
    '1:command:_rtrain_commands' \
    '*::argument:->arguments' && return
  [[ $state == arguments ]] || return
  local command=${words[1]}
  (( $+functions[_rtrain_command_$command] )) && _rtrain_command_$command
}

if [[ $funcstack[1] == _rtrain ]]; then _rtrain "$@"; else compdef _rtrain rtrain; fi
)";

// Puts the text in single quotes.
std::string in_quotes(const std::string& text) {
  return cat("'", join(split(text, '\''), "'\\''"), "'");
}

// Escapes a description in a specification of _arguments.
std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string action(const Offer& offer) {
  std::vector<std::string> calls;
  for (const Source source : offer.sources) {
    if (source == Source::kFiles) {
      calls.emplace_back("_files");
    } else if (source == Source::kFolders) {
      calls.emplace_back("_files -/");
    } else {
      calls.push_back(cat("_rtrain_ask ", source_name(source)));
    }
  }
  std::string words;
  for (const std::string& word : offer.words) words += cat(" ", in_quotes(word));
  if (!words.empty()) calls.push_back(cat("_rtrain_add", words));
  if (calls.empty()) return " ";
  return cat("{ ", join(split(join(calls, "; "), ':'), "\\:"), " }");
}

// The list "(-n --num-workers)" stops zsh from offering an option's names once one of them is
// typed.
std::string option_specs(const OptionRow& option) {
  const std::string once = option.repeats ? "*" : cat("(", join(option.names, " "), ")");
  std::string out;
  for (const std::string& name : option.names) {
    std::string spec = cat(once, name);
    if (!option.value.empty()) spec += name.starts_with("--") ? "=" : "+";
    spec += cat("[", escaped(option.help), "]");
    if (!option.value.empty()) spec += cat(":", escaped(option.value), ":", action(option.offer));
    out += cat(" \\\n    ", in_quotes(spec));
  }
  return out;
}

std::string argument_specs(const CommandRow& command) {
  std::string out;
  size_t place = 0;
  for (const ArgumentRow& argument : command.arguments) {
    for (size_t i = 0; i < argument.places.size(); ++i) {
      ++place;
      const bool is_last = argument.repeats && i + 1 == argument.places.size();
      const std::string at = is_last ? "*" : cat(place);
      out += cat(" \\\n    ",
                 in_quotes(cat(at, ":", escaped(argument.name), ":", action(argument.places[i]))));
    }
  }
  return out;
}

std::string command_function(const CommandRow& command) {
  std::string out = cat("_rtrain_command_", command.name, "() {\n  _arguments -s -S",
                        command.leaves_the_rest ? " -A '-*'" : "");
  for (const OptionRow& option : command.options) out += option_specs(option);
  return cat(out, argument_specs(command), "\n}\n");
}

std::string command_list(const CommandTable& table) {
  std::string out = "_rtrain_commands() {\n  local -a commands=(";
  for (const CommandRow& command : table.commands) {
    out += cat("\n    ", in_quotes(cat(command.name, ":", command.summary)));
  }
  return out + "\n  )\n  _describe command commands\n}\n";
}

}  // namespace

std::string zsh_completion(const CommandTable& table) {
  std::string out = cat(std::string_view(kBegin), command_list(table));
  for (const CommandRow& command : table.commands) out += command_function(command);
  out += kMain;
  for (const OptionRow& option : table.options) out += option_specs(option);
  return out + kEnd;
}

}  // namespace rtrain::cli
