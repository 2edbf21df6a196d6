// host/cli/parser/command_table.h: the commands with their arguments and options as plain data, the
// source of --help, shell completion and manual pages.
#pragma once

#include <string>
#include <vector>

namespace rtrain::cli {

// Where a shell finds candidates. Those that are not files come from the store.
enum class Source { kFiles, kFolders, kRuns, kMetrics, kTags, kCheckpoints };

// A shell's candidates for one word.
struct Offer {
  std::vector<Source> sources = {};
  std::vector<std::string> words = {};
};

struct OptionRow {
  std::vector<std::string> names;  // as typed: "-n", "--num-workers"
  std::string value;               // name of its value in the help; "" for a flag
  std::string help;
  bool repeats = false;
  Offer offer = {};
};

struct ArgumentRow {
  std::string name;
  std::string help;
  bool required = false;
  bool repeats = false;
  std::vector<Offer> places = {};  // for its first word, its second, …; the last is for all others
};

struct CommandRow {
  std::string name;
  std::string summary;
  std::string footer;
  bool leaves_the_rest = false;  // words after the first argument belong to a script
  std::vector<ArgumentRow> arguments;
  std::vector<OptionRow> options;
  std::vector<CommandRow> commands = {};  // sub-commands; with them there are no arguments
};

struct CommandTable {
  std::string program;
  std::string summary;
  std::string version;
  std::vector<OptionRow> options;
  std::vector<CommandRow> commands;
};

}  // namespace rtrain::cli
