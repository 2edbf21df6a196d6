#include "host/cli/screen/listing.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <memory>

#include "host/base/codec/json.h"
#include "host/base/codec/metric_path.h"
#include "host/base/files/new_file.h"
#include "host/base/text/terminal_text.h"
#include "host/base/text/text.h"
#include "host/machine/terminal_size.h"
#include "host/store/checkpoints/object_storage.h"
#include "host/store/files/file.h"
#include "host/store/read/run_listing.h"
#include "host/store/read/user_statement.h"
#include "host/store/runs/storage_folder.h"
#include "host/store/upkeep/run_tag.h"

namespace rtrain::cli {
namespace {

std::string formatted(const char* format, double number) {
  std::array<char, 64> text;
  std::snprintf(text.data(), text.size(), format, number);
  return text.data();
}

std::string two_units(int64_t big, const char* big_unit, int64_t small, const char* small_unit) {
  std::array<char, 64> text;
  std::snprintf(text.data(), text.size(), "%lld %s %02lld %s", static_cast<long long>(big),
                big_unit, static_cast<long long>(small), small_unit);
  return text.data();
}

}  // namespace

std::string ListingOptions::storage_path() const {
  std::string folder = store::storage_folder(storage);
  if (const auto objects = store::ObjectStorage::of(folder)) {
    for (const auto& [run, problem] : objects->refresh_all()) {
      std::cerr << cat("rtrain: the run '", run, "' is shown as it was: ", problem, "\n");
    }
  }
  return folder;
}

std::optional<store::OpenStore> ListingOptions::open_store() const {
  const std::string folder = storage_path();
  std::optional<store::OpenStore> store = store::OpenStore::open(folder);
  if (!store) std::cerr << "no runs in " << folder << " yet\n";
  return store;
}

store::OpenRun ListingOptions::open_run() const { return store::open_run(storage_path(), run); }

std::vector<store::RunRef> ListingOptions::find_runs(const std::vector<std::string>& names) const {
  std::vector<store::RunRef> out;
  std::optional<store::OpenRun> open;
  for (const std::string& name : names) {
    if (!open) open = store::open_run(storage_path(), name);
    store::RunRef run = open->store.find(name);
    const bool is_new = std::none_of(out.begin(), out.end(), [&](const store::RunRef& each) {
      return each.run_id == run.run_id;
    });
    if (is_new) out.push_back(std::move(run));
  }
  return out;
}

void ListingOptions::print(const Value& document) const {
  if (json != "lines" && json != "json") return print_json(document);
  if (!document.is_list()) {
    std::cout << to_json(document) << "\n";
    return;
  }
  for (const Value& item : document.as_list()) std::cout << to_json(item) << "\n";
}

size_t ListingOptions::width() const {
  if (wide) return kAnyWidth;
  if (const auto size = machine::terminal_size(STDOUT_FILENO)) return size->columns;
  const char* columns = std::getenv("COLUMNS");
  const int set = columns == nullptr ? 0 : std::atoi(columns);
  return set > 0 ? static_cast<size_t>(set) : kAnyWidth;
}

Error reading_error(const Error& error) {
  const bool is_malformed = error.message().ends_with("malformed JSON");
  if (error.code() == Code::kUsage) return error;  // for example, in the user's query
  if (error.code() != Code::kArgument && !is_malformed) return error;
  return Error(Code::kEnvironment,
               cat("the store is damaged, or another program has written into it (",
                   error.message(), "): `rtrain gc --rebuild` says what can be read"));
}

Option add_json_option(Command& command, ListingOptions& options) {
  Option json = command.flag_or_value("--json", &options.json,
                                      "one JSON document; --json=lines: a line for each row");
  json.check([](const std::string& form) {
    return form == "true" || form == "lines" ? "" : cat("unknown form '", form, "': say lines");
  });
  return json.offers({.words = {"lines"}});
}

Option add_listing_options(Command& command, ListingOptions& options) {
  command.explain_errors(&reading_error);
  command
      .option("--storage", &options.storage,
              "folder or URI of the store (else $RTRAIN_STORAGE, else ~/rtrain_results)")
      .value_name("FOLDER");
  const Option json = add_json_option(command, options);
  command.old_option("--format", &options.json, "--json=lines")
      .one_of({"text", "json"})
      .excludes(json);
  return json;
}

void add_wide_option(Command& command, ListingOptions& options) {
  command.flag("--wide", &options.wide,
               "lines of any length; else a terminal's width ($COLUMNS in a pipe) is kept");
}

void add_run_argument(Command& command, ListingOptions& options) {
  command.argument("RUN", &options.run, kRunHelp).required();
}

Option add_runs_argument(Command& command, std::vector<std::string>& runs) {
  return command.argument("RUN", &runs, kRunHelp);
}

std::string new_tag_error(const std::string& tag) {
  const std::string problem = store::tag_problem(tag);
  return problem.empty() ? "" : cat("'", terminal_line(tag), "' cannot be a tag: ", problem);
}

std::vector<store::RunRef> tagged_runs(store::OpenStore& store,
                                       const std::vector<std::string>& tags) {
  std::vector<store::RunRef> out;
  if (tags.empty()) return out;
  const List runs =
      store::RunListing(store.database()).rows({.where = {}, .sort = {}, .tags = tags});
  for (const Value& run : runs) {
    out.push_back(store.find(run["run_id"].as_string()));
  }
  return out;
}

std::string no_tagged_run(store::OpenStore& store, const std::vector<std::string>& tags) {
  std::vector<std::string> known;
  const store::QueryAnswer answer =
      store::answer_query(store.database(), "SELECT DISTINCT value FROM runs, json_each(tags)");
  for (const List& row : answer.rows) {
    known.push_back(row[0].as_string());
  }
  for (const std::string& tag : tags) {
    if (std::find(known.begin(), known.end(), tag) != known.end()) continue;
    return cat("no run has the tag ", tag, suggestion(tag, known));
  }
  return cat("no run has the tags ", join(tags, " and "));
}

void write_output(const std::string& path, const std::string& bytes) {
  NewFile file(path);
  file.write(bytes.data(), bytes.size());
  file.commit();
}

void print_json(const Value& value) { std::cout << to_json(value, 2) << "\n"; }

size_t print_table(const std::vector<Column>& columns,
                   const std::vector<std::vector<std::string>>& rows, size_t width) {
  const Table table = table_of(columns, rows, width);
  for (const std::string& line : table.lines) std::cout << line << "\n";
  return table.left_out;
}

std::string human_duration(double seconds) {
  if (seconds < 60) return formatted("%.1f s", seconds);
  const auto whole = static_cast<int64_t>(std::llround(seconds));
  constexpr int64_t kMinute = 60;
  constexpr int64_t kHour = 60 * kMinute;
  constexpr int64_t kDay = 24 * kHour;
  if (whole < kHour) return two_units(whole / kMinute, "m", whole % kMinute, "s");
  if (whole < kDay) return two_units(whole / kHour, "h", whole % kHour / kMinute, "m");
  return two_units(whole / kDay, "d", whole % kDay / kHour, "h");
}

std::string human_size(int64_t bytes) {
  constexpr std::array kUnits = {"kB", "MB", "GB", "TB"};
  if (bytes < 1000) return cat(bytes, " B");
  double size = static_cast<double>(bytes) / 1000;
  size_t unit = 0;
  while (size >= 999.95 && unit + 1 < kUnits.size()) {
    size /= 1000;
    ++unit;
  }
  return cat(formatted("%.1f ", size), kUnits[unit]);
}

std::string human_time(const Value& time) {
  if (time.is_nil()) return "";
  std::string text = time.as_string().substr(0, 19);
  if (text.size() > 10) text[10] = ' ';
  return text;
}

std::string human_number(const Value& value) {
  if (value.is_float() && std::isfinite(value.as_float()))
    return formatted("%.5g", value.as_float());
  if (value.is_float()) return format_double(value.as_float());
  if (value.is_string()) return value.as_string();
  return to_json(value);
}

std::string human_shape(const Value& shape) {
  if (!shape.is_list()) return "";
  std::vector<std::string> sizes;
  for (const Value& size : shape.as_list()) sizes.push_back(cat(size.as_int()));
  return cat("(", join(sizes, ", "), ")");
}

std::string human_metrics(const Value& metrics) {
  std::string out;
  each_metric(metrics, [&](const std::string& name, const Value& value) {
    out += cat(out.empty() ? "" : "  ", brief_name(name), " ", brief_value(human_number(value)));
  });
  return terminal_cell(out);
}

}  // namespace rtrain::cli
