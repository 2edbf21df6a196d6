#include "host/cli/listing.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <memory>

#include "host/base/json.h"
#include "host/base/text.h"
#include "host/store/environment.h"
#include "host/store/file.h"

namespace rtrain {
namespace {

// Columns on a terminal, taken as one for each code point.
size_t seen_width(std::string_view text) {
  size_t width = 0;
  for (const char c : text) width += (static_cast<unsigned char>(c) & 0xC0) != 0x80 ? 1 : 0;
  return width;
}

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
  return storage.empty() ? default_storage() : absolute_path(storage);
}

std::optional<RunReader> ListingOptions::reader() const {
  std::optional<RunReader> reader = RunReader::open(storage_path());
  if (!reader) std::cerr << "no runs in " << storage_path() << " yet\n";
  return reader;
}

OpenRun ListingOptions::open_run() const { return RunReader::open_run(storage_path(), run); }

void add_listing_options(CLI::App& command, ListingOptions& options) {
  command.add_option("--storage", options.storage,
                     "folder of the store (else $RTRAIN_STORAGE, else ~/rtrain_results)");
  command.add_flag("--json", options.json, "one JSON document");
}

void add_run_argument(CLI::App& command, ListingOptions& options) {
  command.add_option("RUN", options.run, "a name, a unique beginning of a name or id, or 'last'")
      ->required();
}

void print_json(const Value& value) { std::cout << to_json(value, 2) << "\n"; }

void print_table(const std::vector<Column>& columns,
                 const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> widths;
  for (const Column& column : columns) widths.push_back(seen_width(column.header));
  for (const auto& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], seen_width(row[i]));
  }
  const auto print_row = [&](const auto& cell) {
    std::string line;
    for (size_t i = 0; i < columns.size(); ++i) {
      const std::string text = cell(i);
      const std::string padding(widths[i] - seen_width(text), ' ');
      line += cat(i > 0 ? "  " : "", columns[i].right ? padding + text : text + padding);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    std::cout << line << "\n";
  };
  print_row([&](size_t i) { return columns[i].header; });
  for (const auto& row : rows) print_row([&](size_t i) { return row[i]; });
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

std::string human_metrics(const Value& metrics, size_t width) {
  std::string out;
  if (!metrics.is_map()) return out;
  for (const auto& [key, value] : metrics.as_map()) {
    const auto* name = std::get_if<std::string>(&key);
    const std::string part = cat(out.empty() ? "" : "  ",
                                 name != nullptr ? *name : std::to_string(std::get<int64_t>(key)),
                                 " ", human_number(value));
    if (!out.empty() && seen_width(out) + seen_width(part) > width) return out + "  …";
    out += part;
  }
  return out;
}

}  // namespace rtrain
