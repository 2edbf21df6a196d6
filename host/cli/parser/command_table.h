// host/cli/parser/command_table.h: the commands with their arguments and options as plain data,
// of which --help, shell completion and man pages are made.
#pragma once

#include <string>
#include <vector>

namespace rtrain {

// Where a shell finds what may be typed. What is not a file comes from the run store.
enum class Source { kFiles, kFolders, kRuns, kMetrics, kTags, kCheckpoints };

// What a shell offers for one word.
struct Offer {
  std::vector<Source> sources = {};
  std::vector<std::string> words = {};
};

struct OptionRow {
  std::vector<std::string> names;  // as they are typed: "-n", "--num-workers"
  std::string value;               // what the help calls its value; "" for a flag
  std::string help;
  bool repeats = false;
  Offer offer = {};
};

struct ArgumentRow {
  std::string name;
  std::string help;
  bool required = false;
  bool repeats = false;
  std::vector<Offer> places = {};  // of its first word, its second, …; the last one of all others
};

struct CommandRow {
  std::string name;
  std::string summary;
  std::string footer;
  bool leaves_the_rest = false;  // what follows the first argument belongs to a script
  std::vector<ArgumentRow> arguments;
  std::vector<OptionRow> options;
  std::vector<CommandRow> commands = {};  // below it; then it has nothing else
};

struct CommandTable {
  std::string program;
  std::string summary;
  std::string version;
  std::vector<OptionRow> options;
  std::vector<CommandRow> commands;
};

}  // namespace rtrain
