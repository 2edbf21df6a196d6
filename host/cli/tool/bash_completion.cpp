#include <algorithm>

#include "host/base/text/shell_word.h"
#include "host/base/text/text.h"
#include "host/cli/tool/completion_scripts.h"

namespace rtrain::cli {
namespace {

// A bash function sees the variables of its callers: `current` is the word to complete, `words` the
// command and the words before `current`, `candidates` the result.
constexpr const char* kBegin = R"(# Completion of rtrain for bash, made by `rtrain completion bash`.

_rtrain_add() {
  local word
  for word in "$@"; do
    [[ $word == "$current"* ]] && candidates+=("$word")
  done
}

_rtrain_paths() {
  local path
  compopt -o filenames 2> /dev/null
  names_files=1
  while IFS= read -r path; do candidates+=("$path"); done < <(compgen "$1" -- "$current")
}

# What the store has. A name is data: nothing in it is expanded.
_rtrain_ask() {
  local line
  while IFS= read -r line; do _rtrain_add "${line%%$'\t'*}"; done \
    < <("$program" --complete "$1" "$current" "${words[@]}" 2> /dev/null)
}

)";

constexpr const char* kEnd = R"(
# Sets `words` and `current` from what bash has cut at : and =.
_rtrain_words() {
  local index word
  for ((index = 1; index <= COMP_CWORD; ++index)); do
    word=${COMP_WORDS[index]}
    if ((index > 1)) && [[ $word =~ ^[:=]+$ || ${COMP_WORDS[index - 1]} =~ ^[:=]+$ ]]; then
      words[-1]+=$word
    else
      words+=("$word")
    fi
  done
  current=${words[-1]}
  unset 'words[-1]'
  case $current in
    [\"\']*) quoted=1 current=${current:1} ;;
    *) current=${current//\\/} ;;
  esac
}

# What may stand after the words.
_rtrain_offer() {
  local place=0 waiting='' is_rest='' word
  local -a options=() valued=()
  local leaves_the_rest=''
  _rtrain_options "${words[0]}"
  for word in "${words[@]:1}"; do
    if [[ -n $waiting ]]; then
      waiting=''
    elif [[ -n $is_rest || $word != -?* ]]; then
      ((++place))
      is_rest+=$leaves_the_rest
    elif [[ $word == -- ]]; then
      is_rest=1
    elif [[ " ${valued[*]} " == *" $word "* ]]; then
      waiting=$word
    fi
  done
  if [[ -n $waiting ]]; then
    _rtrain_value "${words[0]} $waiting"
  elif [[ -z $is_rest && $current == --*=* ]]; then
    front=${current%%=*}=
    current=${current#*=}
    _rtrain_value "${words[0]} ${front%=}"
  elif [[ -z $is_rest && $current == -* ]]; then
    _rtrain_add "${options[@]}"
  else
    _rtrain_value "${words[0]} $place"
  fi
}

_rtrain() {
  local program=${COMP_WORDS[0]/#\~\//$HOME/} current='' front='' quoted='' names_files=''
  local -a words=() candidates=()
  _rtrain_words
  if ((${#words[@]} == 0)); then
    if [[ $current == -* ]]; then _rtrain_own_options; else _rtrain_commands; fi
  else
    _rtrain_offer
  fi
  # bash replaces only what follows the last character at which it cuts.
  local breaks='' kept='' candidate
  [[ $COMP_WORDBREAKS == *:* ]] && breaks+=:
  [[ $COMP_WORDBREAKS == *=* ]] && breaks+==
  [[ -z $quoted && -n $breaks && $front$current =~ ^.*[$breaks] ]] && kept=${BASH_REMATCH[0]}
  COMPREPLY=()
  for candidate in "${candidates[@]}"; do
    [[ $candidate == *: && ${#candidates[@]} == 1 ]] && compopt -o nospace 2> /dev/null
    candidate=$front$candidate
    candidate=${candidate#"$kept"}
    [[ -n $quoted || -n $names_files ]] || printf -v candidate %q "$candidate"
    COMPREPLY+=("$candidate")
  done
}

complete -F _rtrain rtrain
)";

std::string words_of(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += cat(" ", shell_word(word));
  return out;
}

// Returns for example "_rtrain_ask runs; _rtrain_add last", or ":" if there are no candidates.
std::string calls(const Offer& offer) {
  std::vector<std::string> out;
  for (const Source source : offer.sources) {
    if (source == Source::kFiles) {
      out.emplace_back("_rtrain_paths -f");
    } else if (source == Source::kFolders) {
      out.emplace_back("_rtrain_paths -d");
    } else {
      out.push_back(cat("_rtrain_ask ", source_name(source)));
    }
  }
  if (!offer.words.empty()) out.push_back(cat("_rtrain_add", words_of(offer.words)));
  return out.empty() ? ":" : join(out, "; ");
}

bool is_empty(const Offer& offer) { return offer.sources.empty() && offer.words.empty(); }

std::vector<std::string> all_names(const std::vector<OptionRow>& options, bool valued_only) {
  std::vector<std::string> names;
  for (const OptionRow& option : options) {
    if (valued_only && option.value.empty()) continue;
    names.insert(names.end(), option.names.begin(), option.names.end());
  }
  return names;
}

std::string names(const CommandTable& table) {
  std::vector<std::string> commands;
  for (const CommandRow& command : table.commands) commands.push_back(command.name);
  return cat("_rtrain_commands() { _rtrain_add", words_of(commands), "; }\n",
             "_rtrain_own_options() { _rtrain_add", words_of(all_names(table.options, false)),
             "; }\n\n");
}

std::string options(const CommandTable& table) {
  std::string out = "_rtrain_options() {\n  case $1 in\n";
  for (const CommandRow& command : table.commands) {
    out += cat("    ", command.name, ")\n      options=(",
               trim(words_of(all_names(command.options, false))), ")\n");
    const std::vector<std::string> valued = all_names(command.options, true);
    if (!valued.empty()) out += cat("      valued=(", trim(words_of(valued)), ")\n");
    if (command.leaves_the_rest) out += "      leaves_the_rest=1\n";
    out += "      ;;\n";
  }
  return out + "  esac\n}\n\n";
}

// Returns a case for the place of each argument word; the case of the last place of a repeated
// argument also covers all further words.
std::string places(const CommandRow& command) {
  std::string out;
  size_t place = 0;
  for (const ArgumentRow& argument : command.arguments) {
    for (size_t i = 0; i < argument.places.size(); ++i) {
      const bool is_last = argument.repeats && i + 1 == argument.places.size();
      const std::string pattern = is_last ? "'[0-9]*" : cat(place, "'");
      out += cat("    '", command.name, " ", pattern, ") ", calls(argument.places[i]), " ;;\n");
      ++place;
    }
  }
  return out;
}

std::string values(const CommandTable& table) {
  std::string out =
      "# What may stand at a place, or as the value of an option.\n"
      "_rtrain_value() {\n  case $1 in\n";
  for (const CommandRow& command : table.commands) {
    out += places(command);
    for (const OptionRow& option : command.options) {
      if (is_empty(option.offer)) continue;
      std::vector<std::string> patterns;
      for (const std::string& name : option.names) {
        patterns.push_back(cat("'", command.name, " ", name, "'"));
      }
      out += cat("    ", join(patterns, " | "), ") ", calls(option.offer), " ;;\n");
    }
  }
  return out + "  esac\n}\n";
}

}  // namespace

std::string bash_completion(const CommandTable& table) {
  return cat(kBegin, names(table), options(table), values(table), kEnd);
}

}  // namespace rtrain::cli
