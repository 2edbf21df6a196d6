#include "host/store/import/imported_csv.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>
#include <type_traits>

#include "host/base/codec/csv_records.h"
#include "host/base/codec/json.h"
#include "host/base/error.h"
#include "host/base/text/terminal_text.h"
#include "host/base/text/text.h"
#include "host/base/time_reader.h"

namespace rtrain::store {
namespace {

constexpr std::array kStepNames = {"step", "Step", "global_step", "_step", "index"};
constexpr std::array kTimeNames = {"time", "wall_time", "Wall time", "timestamp", "_timestamp"};
constexpr std::array kReportColumns = {"run", "index", "attempt", "time"};

Error at_line(size_t line, const std::string& problem) {
  return Error(Code::kUsage, cat("import: line ", line, ": ", problem));
}

template <class Number>
std::optional<Number> number_of(std::string_view text) {
  Number out{};
  const auto [end, status] = std::from_chars(text.begin(), text.end(), out);
  if (end != text.end()) return std::nullopt;
  if constexpr (std::is_same_v<Number, double>) {  // beyond the range of double
    if (status == std::errc::result_out_of_range)
      return std::strtod(std::string(text).c_str(), nullptr);
  }
  if (status != std::errc()) return std::nullopt;
  return out;
}

// An integer cell. "-0" is not one, because int64 has no negative zero.
std::optional<Value> integer_of(std::string_view text) {
  if (const auto number = number_of<int64_t>(text)) {
    return *number == 0 && text.starts_with('-') ? std::nullopt : std::optional<Value>(*number);
  }
  return std::nullopt;
}

template <size_t Size>
bool is_one_of(std::string_view text, const std::array<std::string_view, Size>& words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

// Cells that pandas treats as missing, except those that say NaN.
bool is_missing(std::string_view text) {
  constexpr std::array<std::string_view, 11> kMissing = {
      "", "#N/A", "#N/A N/A", "#NA", "<NA>", "N/A", "NA", "NULL", "None", "n/a", "null"};
  return is_one_of(text, kMissing);
}

std::optional<double> float_of(std::string_view text) {
  constexpr std::array<std::string_view, 4> kWindowsNans = {"1.#IND", "-1.#IND", "1.#QNAN",
                                                            "-1.#QNAN"};
  if (is_one_of(text, kWindowsNans)) return std::nan("");
  if (text.starts_with('+')) text.remove_prefix(1);
  const auto number = number_of<double>(text);  // also nan and inf, in any case
  return number && std::isnan(*number) ? std::nan("") : number;
}

// pandas' spellings; rtrain itself writes true and false.
std::optional<bool> boolean_of(std::string_view text) {
  constexpr std::array<std::string_view, 3> kTrue = {"true", "True", "TRUE"};
  constexpr std::array<std::string_view, 3> kFalse = {"false", "False", "FALSE"};
  if (is_one_of(text, kTrue)) return true;
  return is_one_of(text, kFalse) ? std::optional(false) : std::nullopt;
}

class Table {
 public:
  explicit Table(std::string_view text) {
    try {
      records_ = read_csv_records(text, csv_separator(text));
    } catch (const Error& e) {
      throw Error(Code::kUsage, cat("import: ", e.message()));
    }
    if (records_.empty()) throw Error(Code::kUsage, "import: the table is empty");
    header_ = std::move(records_.front().cells);
    records_.erase(records_.begin());
    if (records_.empty()) throw Error(Code::kUsage, "import: the table has no rows");
    for (const CsvRecord& record : records_) {
      if (record.cells.size() == header_.size()) continue;
      throw at_line(record.line, cat(record.cells.size(), " cells, expected ", header_.size()));
    }
  }

  // For a table of another program: trims spaces around cells, and clears cells that stand for a
  // missing value.
  void tidy() {
    for (std::string& name : header_) name = std::string(trim(name));
    for (CsvRecord& record : records_) {
      for (std::string& cell : record.cells) {
        const std::string_view bare = trim(cell);
        if (is_missing(bare)) {
          cell.clear();
        } else if (bare.size() < cell.size()) {
          cell = std::string(bare);
        }
      }
    }
  }

  // Allows several columns without a name, because spreadsheets end lines with empty columns.
  void check_names() const {
    std::set<std::string_view> names;
    for (const std::string& name : header_) {
      if (name.empty() || names.insert(name).second) continue;
      throw at_line(1, cat("two columns are called '", name, "'"));
    }
  }

  // Adds the columns without a name, which cannot be metrics.
  void add_nameless(std::set<size_t>& columns) const {
    for (size_t i = 0; i < header_.size(); ++i) {
      if (header_[i].empty()) columns.insert(i);
    }
  }

  const std::vector<std::string>& header() const { return header_; }
  const std::vector<CsvRecord>& rows() const { return records_; }

  std::optional<size_t> find(std::string_view name) const {
    const auto found = std::find(header_.begin(), header_.end(), name);
    if (found == header_.end()) return std::nullopt;
    return static_cast<size_t>(found - header_.begin());
  }
  template <size_t Size>
  std::optional<size_t> find_any(const std::array<const char*, Size>& names) const {
    for (const char* name : names) {
      if (const auto found = find(name)) return found;
    }
    return std::nullopt;
  }
  bool has(std::initializer_list<const char*> names) const {
    return std::all_of(names.begin(), names.end(), [&](const char* name) { return find(name); });
  }

  int64_t integer(const CsvRecord& row, size_t column) const {
    const std::string& cell = row.cells[column];
    if (const auto number = number_of<int64_t>(cell)) return *number;
    const auto real = float_of(cell);  // "3.0"
    constexpr double kLargest = 9e15;
    if (real && *real == std::floor(*real) && std::abs(*real) < kLargest) {
      return static_cast<int64_t>(*real);
    }
    throw at_line(row.line, cat(header_[column], " is '", cell, "': expected an integer"));
  }

  int64_t time_ms(const CsvRecord& row, std::optional<size_t> column, int64_t otherwise) const {
    if (!column || row.cells[*column].empty()) return otherwise;
    if (const auto time = read_time(row.cells[*column])) return *time;
    throw at_line(row.line, cat(header_[*column], " is '", row.cells[*column],
                                "': expected 2026-11-21T14:03:05Z or seconds since 1970"));
  }

 private:
  std::vector<std::string> header_;
  std::vector<CsvRecord> records_;
};

// The common type of a column's cells.
enum class Kind { kInteger, kFloat, kBoolean, kText };

struct Column {
  size_t place = 0;
  Kind kind = Kind::kInteger;
  std::optional<size_t> text_row = {};  // for kText: the first row that is not a number
  bool nests = false;                   // "val/loss" becomes a nested map
};

Column column_at(const Table& table, size_t place) {
  Column out{.place = place};
  bool all_boolean = true;
  bool any = false;
  for (size_t row = 0; row < table.rows().size(); ++row) {
    const std::string& cell = table.rows()[row].cells[place];
    if (cell.empty()) continue;
    any = true;
    all_boolean = all_boolean && boolean_of(cell);
    if (out.kind == Kind::kInteger && !integer_of(cell)) out.kind = Kind::kFloat;
    if (out.kind == Kind::kFloat && !float_of(cell)) out.kind = Kind::kText;
    if (out.kind == Kind::kText && !out.text_row) out.text_row = row;
  }
  if (any && all_boolean) out.kind = Kind::kBoolean;
  return out;
}

// In a table of rtrain, lists and maps in a text column are JSON.
Value value_of_text(const std::string& cell, bool is_own) {
  if (!is_own || (cell.front() != '[' && cell.front() != '{')) return cell;
  try {
    return from_json(cell);
  } catch (const Error&) {
    return cell;
  }
}

Value value_of(const std::string& cell, Kind kind, bool is_own) {
  switch (kind) {
    case Kind::kInteger:
      return *integer_of(cell);
    case Kind::kFloat:
      return *float_of(cell);
    case Kind::kBoolean:
      return *boolean_of(cell);
    case Kind::kText:
      return value_of_text(cell, is_own);
  }
  return {};
}

void set_nested(Map& metrics, std::string_view name, Value value) {
  const size_t slash = name.find('/');
  if (slash == std::string_view::npos || slash == 0 || slash + 1 == name.size()) {
    metrics.set(std::string(name), std::move(value));
    return;
  }
  const std::string first(name.substr(0, slash));
  if (metrics.find(first) == nullptr || !metrics.find(first)->is_map()) metrics.set(first, Map{});
  set_nested(metrics.find(first)->as_map(), name.substr(slash + 1), std::move(value));
}

// Converts rows to metrics: all columns except `others`.
class Metrics {
 public:
  Metrics(const Table& table, const std::set<size_t>& others, bool is_own)
      : table_(table), is_own_(is_own) {
    for (size_t i = 0; i < table.header().size(); ++i) {
      if (others.contains(i)) continue;
      columns_.push_back(column_at(table, i));
      columns_.back().nests = is_own || !is_below_another(table.header()[i]);
    }
  }

  Map of(const CsvRecord& row) const {
    Map out;
    for (const Column& column : columns_) {
      const std::string& cell = row.cells[column.place];
      if (cell.empty()) continue;
      Value value = value_of(cell, column.kind, is_own_);
      const std::string& name = table_.header()[column.place];
      if (column.nests) {
        set_nested(out, is_own_ ? original_name(name) : name, std::move(value));
      } else {
        out.set(name, std::move(value));
      }
    }
    return out;
  }

  // The text columns, each with its first cell that is not a number.
  std::vector<std::string> text_columns() const {
    std::vector<std::string> out;
    for (const Column& column : columns_) {
      if (column.kind != Kind::kText) continue;
      const CsvRecord& row = table_.rows()[*column.text_row];
      out.push_back(cat(terminal_cell(table_.header()[column.place]), " ('",
                        beginning(row.cells[column.place]), "' in line ", row.line, ")"));
    }
    return out;
  }

 private:
  // The export adds "metrics/" to metrics with the names of report columns. Removes it.
  static std::string_view original_name(std::string_view name) {
    constexpr std::string_view kPrefix = "metrics/";
    if (!name.starts_with(kPrefix)) return name;
    const std::string_view rest = name.substr(kPrefix.size());
    const bool is_taken =
        std::find(kReportColumns.begin(), kReportColumns.end(), rest) != kReportColumns.end();
    return is_taken ? rest : name;
  }

  static std::string beginning(const std::string& cell) {
    constexpr size_t kMost = 24;
    return cat(terminal_cell(cell.substr(0, kMost)), cell.size() > kMost ? "…" : "");
  }

  // "val/loss" cannot be nested if there is also a metric "val".
  bool is_below_another(const std::string& name) const {
    for (size_t slash = name.find('/'); slash != std::string::npos;
         slash = name.find('/', slash + 1)) {
      if (table_.find(std::string_view(name).substr(0, slash))) return true;
    }
    return false;
  }

  const Table& table_;
  bool is_own_;
  std::vector<Column> columns_;
};

// The runs of the table, in order of first appearance.
class Runs {
 public:
  ImportedRun& named(const std::string& name) {
    const auto found = std::find_if(runs_.begin(), runs_.end(),
                                    [&](const ImportedRun& run) { return run.name == name; });
    if (found != runs_.end()) return *found;
    runs_.push_back({});
    runs_.back().name = name;
    return runs_.back();
  }
  std::vector<ImportedRun> take() { return std::move(runs_); }

 private:
  std::vector<ImportedRun> runs_;
};

std::vector<ImportedRun> exported_reports(const Table& table, const CsvOptions& options) {
  const size_t run = *table.find("run");
  const size_t index = *table.find("index");
  const size_t attempt = *table.find("attempt");
  const auto time = table.find("time");
  std::set<size_t> others{run, index, attempt};
  if (time) others.insert(*time);
  table.add_nameless(others);
  const Metrics metrics(table, others, /*is_own=*/true);
  Runs runs;
  for (const CsvRecord& row : table.rows()) {
    runs.named(row.cells[run])
        .reports.push_back({.attempt = table.integer(row, attempt),
                            .index = table.integer(row, index),
                            .time_ms = table.time_ms(row, time, options.time_ms),
                            .metrics = metrics.of(row)});
  }
  return runs.take();
}

std::vector<ImportedRun> exported_series(const Table& table, const CsvOptions& options) {
  const size_t run = *table.find("run");
  const size_t key = *table.find("key");
  const size_t value = *table.find("value");
  const auto step = table.find("step");
  const auto rank = table.find("rank");
  const auto time = table.find("time");
  Runs runs;
  for (const CsvRecord& row : table.rows()) {
    if (row.cells[key].empty()) throw at_line(row.line, "key is empty: a series needs a name");
    std::vector<ImportedSeries>& all = runs.named(row.cells[run]).series;
    const int64_t of_rank = rank ? table.integer(row, *rank) : 0;
    const auto number = float_of(row.cells[value]);
    if (!number) throw at_line(row.line, cat("value is '", row.cells[value], "': not a number"));
    // Searches backwards, because the points of a series are consecutive.
    auto found = std::find_if(all.rbegin(), all.rend(), [&](const ImportedSeries& series) {
      return series.key == row.cells[key] && series.rank == of_rank;
    });
    if (found == all.rend()) {
      all.push_back({.key = row.cells[key], .rank = of_rank, .points = {}});
      found = all.rbegin();
    }
    std::vector<SeriesPoint>& points = found->points;
    const auto place = static_cast<int64_t>(points.size());
    points.push_back({step ? table.integer(row, *step) : place,
                      table.time_ms(row, time, options.time_ms), *number});
  }
  return runs.take();
}

std::optional<size_t> step_column(const Table& table, const CsvOptions& options) {
  if (options.step_column.empty()) return table.find_any(kStepNames);
  if (const auto found = table.find(options.step_column)) return found;
  throw Error(Code::kUsage, cat("import: no column '", options.step_column, "'",
                                suggestion(options.step_column, table.header())));
}

// Merges rows of the same step: loggers write training and validation metrics in separate rows.
// Throws if a metric has two different values.
void merge_metrics(Map& into, const Map& from, int64_t step, size_t line) {
  const auto is_nan = [](const Value& value) {
    return value.is_float() && std::isnan(value.as_float());
  };
  for (const auto& [key, value] : from) {
    const auto& name = std::get<std::string>(key);
    Value* known = into.find(name);
    if (known == nullptr) {
      into.set(name, value);
    } else if (known->is_map() && value.is_map()) {
      merge_metrics(known->as_map(), value.as_map(), step, line);
    } else if (*known != value && !(is_nan(*known) && is_nan(value))) {
      throw at_line(line, cat("step ", step, " has a second value of ", terminal_cell(name),
                              ": name another column with --step"));
    }
  }
}

void merge(Report& report, const Report& row, size_t line) {
  report.time_ms = std::max(report.time_ms, row.time_ms);
  merge_metrics(report.metrics.as_map(), row.metrics.as_map(), report.index, line);
}

ImportedCsv wide_table(const Table& table, const CsvOptions& options) {
  const auto step = step_column(table, options);
  const auto time = table.find_any(kTimeNames);
  std::set<size_t> others;
  if (step) others.insert(*step);
  if (time) others.insert(*time);
  table.add_nameless(others);
  const Metrics metrics(table, others, /*is_own=*/false);
  ImportedRun run;
  run.name = options.name;
  std::map<int64_t, size_t> places;  // of each step's report
  for (const CsvRecord& row : table.rows()) {
    const auto number = static_cast<int64_t>(run.reports.size());
    const int64_t index = step ? table.integer(row, *step) : number;
    if (index < 0) throw at_line(row.line, cat("step ", index, " is below 0"));
    Report report{.attempt = 1,
                  .index = index,
                  .time_ms = table.time_ms(row, time, options.time_ms),
                  .metrics = metrics.of(row)};
    const auto [place, is_new] = places.try_emplace(index, run.reports.size());
    if (is_new) {
      run.reports.push_back(std::move(report));
    } else {
      merge(run.reports[place->second], report, row.line);
    }
  }
  return {.runs = {run}, .text_columns = metrics.text_columns()};
}

}  // namespace

ImportedCsv read_imported_csv(std::string_view text, const CsvOptions& options) {
  Table table(text);
  if (options.step_column.empty() && table.has({"run", "index", "attempt"})) {
    table.check_names();
    return {.runs = exported_reports(table, options), .text_columns = {}};
  }
  if (options.step_column.empty() && table.has({"run", "key", "value"})) {
    table.check_names();
    return {.runs = exported_series(table, options), .text_columns = {}};
  }
  table.tidy();
  table.check_names();
  return wide_table(table, options);
}

}  // namespace rtrain::store
