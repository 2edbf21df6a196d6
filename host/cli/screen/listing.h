// host/cli/screen/listing.h: shared by the listing commands: --storage, --json, tables and
// human-readable units.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "host/base/value.h"
#include "host/cli/parser/parser.h"
#include "host/cli/screen/layout.h"
#include "host/cli/screen/table.h"
#include "host/store/read/open_store.h"

namespace rtrain::cli {

struct ListingOptions {
  std::string storage;
  std::string json;  // "": for users; "true": one document; "lines", "json": one per row
  bool wide = false;
  std::string run;

  // Returns --storage, else $RTRAIN_STORAGE, else ~/rtrain_results, as an absolute path.
  std::string storage_path() const;
  // Returns the store, or nullopt after a message on stderr if there is no store yet.
  std::optional<store::OpenStore> open_store() const;
  // Opens the store and the requested run. Throws Error(kUsage) if there is no store.
  store::OpenRun open_run() const;
  // Finds several runs, without duplicates.
  std::vector<store::RunRef> find_runs(const std::vector<std::string>& names) const;
  // Whether the output is for a program: one document with --json, or one line for each item of a
  // list with --json=lines.
  bool for_programs() const { return !json.empty() && json != "text"; }
  void print(const Value& document) const;
  // The width of the output: the terminal's columns; in a pipe $COLUMNS, else unlimited.
  size_t width() const;
};

// Translates errors of commands that read the store: text that is not JSON, or a value of the wrong
// type, means that the store is damaged. Then Error(kEnvironment).
Error reading_error(const Error& error);

// Adds --json, which may be --json=lines.
Option add_json_option(Command& command, ListingOptions& options);
// Adds --storage and --json, which is returned.
Option add_listing_options(Command& command, ListingOptions& options);
// Adds --wide.
void add_wide_option(Command& command, ListingOptions& options);
// What RUN may be, for help texts.
inline constexpr const char* kRunHelp =
    "a name, a unique beginning of a name or id, 'last', or best:METRIC[:min|max]";
// Adds the positional RUN.
void add_run_argument(Command& command, ListingOptions& options);

// Adds the positional RUN….
Option add_runs_argument(Command& command, std::vector<std::string>& runs);

// Why the string cannot be a new tag, in the form of Option::check.
std::string new_tag_error(const std::string& tag);

// The runs with all of these tags; none if no tag is given.
std::vector<store::RunRef> tagged_runs(store::OpenStore& store,
                                       const std::vector<std::string>& tags);

// The message that no run has all of these tags, with a suggestion.
std::string no_tagged_run(store::OpenStore& store, const std::vector<std::string>& tags);

// Writes the file. On an error an older file stays unchanged. Throws Error(kEnvironment).
void write_output(const std::string& path, const std::string& bytes);

// One JSON document on stdout.
void print_json(const Value& value);

// Prints the table and returns the number of columns that were left out.
size_t print_table(const std::vector<Column>& columns,
                   const std::vector<std::vector<std::string>>& rows, size_t width = kAnyWidth);

std::string human_duration(double seconds);       // "3.2 s", "4 m 05 s", "2 h 10 m", "3 d 4 h"
std::string human_size(int64_t bytes);            // "12.3 MB"
std::string human_time(const Value& time);        // "2026-11-21 14:03:05"; "" for nil
std::string human_number(const Value& value);     // five significant digits; other values as JSON
std::string human_shape(const Value& shape);      // "(60000, 28, 28)"; "" for nil
std::string human_metrics(const Value& metrics);  // "loss 0.25  accuracy 0.9", on one line

}  // namespace rtrain::cli
