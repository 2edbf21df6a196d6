#include "host/base/text/text.h"
#include "host/cli/tool/completion_scripts.h"

namespace rtrain::cli {
namespace {

constexpr const char* kFunctions = R"(
# The number of arguments between the command and the cursor.
function __rtrain_place
    set -l words (commandline -opc)
    set -l valued (__rtrain_valued $words[2])
    set -l place 0
    set -l waiting
    set -l rest
    for word in $words
        if set -q waiting[1]
            set -e waiting
        else if set -q rest[1]; or not string match -qr -- '^-.' $word
            set place (math $place + 1)
        else if test $word = --
            set rest 1
        else if contains -- $word $valued
            set waiting 1
        end
    end
    math $place - 2
end

# Whether the cursor is behind this command: with a number, where that argument stands; with a
# second one, at that argument or a later one.
function __rtrain_at --argument-names command place more
    set -l words (commandline -opc)
    test (count $words) -gt 1; and test $words[2] = $command; or return 1
    test -n "$place"; or return 0
    if test -n "$more"
        test (__rtrain_place) -ge $place
    else
        test (__rtrain_place) -eq $place
    end
end

function __rtrain_before_command
    test (count (commandline -opc)) -eq 1
end

# What the store has.
function __rtrain_ask --argument-names source
    set -l words (commandline -opc)
    set -l program (string replace -r '^~/' "$HOME/" -- $words[1])
    set -l current (string replace -r '^--[^=]*=' '' -- (commandline -ct))
    command $program --complete $source "$current" $words[2..-1] 2>/dev/null
end

complete -c rtrain -f
)";

std::string in_quotes(const std::string& text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out + "'";
}

// Returns the option's names as arguments of `complete`: "-s n -l name".
std::string names_of(const OptionRow& option) {
  std::string out;
  for (const std::string& name : option.names) {
    out += name.starts_with("--") ? cat(" -l ", name.substr(2)) : cat(" -s ", name.substr(1));
  }
  return out;
}

// Returns the arguments of `complete` for the candidates; empty without candidates.
std::vector<std::string> candidates(const Offer& offer) {
  std::vector<std::string> out;
  for (const Source source : offer.sources) {
    if (source == Source::kFiles) {
      out.emplace_back(" -F");
    } else if (source == Source::kFolders) {
      out.emplace_back(" -f -a '(__fish_complete_directories)'");
    } else {
      out.push_back(cat(" -f -k -a '(__rtrain_ask ", source_name(source), ")'"));
    }
  }
  std::vector<std::string> words;
  for (const std::string& word : offer.words) words.push_back(in_quotes(word));
  if (!words.empty()) out.push_back(cat(" -f -a ", in_quotes(join(words, " "))));
  return out;
}

std::string line(const std::string& condition, const std::string& rest) {
  return cat("complete -c rtrain -n ", in_quotes(condition), rest, "\n");
}

// If the command's script takes the remaining words, options are offered only before its first
// argument.
std::string options_of(const std::string& condition, const std::vector<OptionRow>& options) {
  std::string out;
  for (const OptionRow& option : options) {
    const std::string help = cat(" -d ", in_quotes(option.help));
    std::vector<std::string> values{""};
    if (!option.value.empty()) {
      values = candidates(option.offer);
      if (values.empty()) values.emplace_back(" -f");
    }
    for (const std::string& value : values) {
      out += line(condition, cat(names_of(option), option.value.empty() ? "" : " -r", value, help));
    }
  }
  return out;
}

std::string arguments_of(const CommandRow& command) {
  std::string out;
  size_t place = 0;
  for (const ArgumentRow& argument : command.arguments) {
    for (size_t i = 0; i < argument.places.size(); ++i) {
      const bool is_last = argument.repeats && i + 1 == argument.places.size();
      for (const std::string& value : candidates(argument.places[i])) {
        out += line(cat("__rtrain_at ", command.name, " ", place, is_last ? " more" : ""), value);
      }
      ++place;
    }
  }
  return out;
}

// Returns a fish function with the options of each command that have a value.
std::string valued(const CommandTable& table) {
  std::string out = "function __rtrain_valued --argument-names command\n    switch \"$command\"\n";
  for (const CommandRow& command : table.commands) {
    std::string names;
    for (const OptionRow& option : command.options) {
      if (option.value.empty()) continue;
      for (const std::string& name : option.names) names += cat(" ", name);
    }
    if (names.empty()) continue;
    out += cat("        case ", command.name, "\n            string split ' ' -- ",
               in_quotes(names.substr(1)), "\n");
  }
  return out + "    end\nend\n";
}

}  // namespace

std::string fish_completion(const CommandTable& table) {
  std::string out =
      cat("# Completion of rtrain for fish, made by `rtrain completion fish`.\n\n", valued(table),
          std::string_view(kFunctions), options_of("__rtrain_before_command", table.options));
  for (const CommandRow& command : table.commands) {
    out += line("__rtrain_before_command",
                cat(" -a ", command.name, " -d ", in_quotes(command.summary)));
  }
  for (const CommandRow& command : table.commands) {
    out += options_of(cat("__rtrain_at ", command.name, command.leaves_the_rest ? " 0" : ""),
                      command.options);
    out += arguments_of(command);
  }
  return out;
}

}  // namespace rtrain::cli
