#include "host/store/read/run_table.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <memory>
#include <optional>
#include <string_view>
#include <system_error>
#include <unordered_map>
#include <utility>

#include "host/base/clock.h"
#include "host/base/codec/json.h"
#include "host/base/codec/metric_path.h"
#include "host/base/text/text.h"
#include "host/store/read/report_rows.h"
#include "host/store/series/series_store.h"

namespace rtrain::store {
namespace {

using Type = TableColumn::Type;

const std::vector<TableColumn> kReportColumns = {{"run", Type::kText},
                                                 {"index", Type::kInteger},
                                                 {"attempt", Type::kInteger},
                                                 {"time", Type::kText}};

const std::vector<TableColumn> kSeriesColumns = {{"run", Type::kText},     {"key", Type::kText},
                                                 {"rank", Type::kInteger}, {"step", Type::kInteger},
                                                 {"time", Type::kText},    {"value", Type::kFloat}};

// Calls see(column, value) for each metric of a report.
template <class See>
void each_column(const RankReport& report, const See& see) {
  each_metric(report.metrics, [&](const std::string& path, const Value& value) {
    const bool is_taken =
        std::any_of(kReportColumns.begin(), kReportColumns.end(),
                    [&](const TableColumn& column) { return column.name == path; });
    see(is_taken ? cat("metrics/", path) : path, value);
  });
}

Type type_of(const Value& value) {
  if (value.is_int()) return Type::kInteger;
  if (value.is_float() || value.is_large()) return Type::kFloat;
  return value.is_bool() ? Type::kBoolean : Type::kText;
}

// The type that can hold both.
Type common(Type a, Type b) {
  if (a == b) return a;
  const auto is_number = [](Type type) { return type == Type::kInteger || type == Type::kFloat; };
  return is_number(a) && is_number(b) ? Type::kFloat : Type::kText;
}

// The columns of reports, in order of first appearance.
class ReportColumns {
 public:
  ReportColumns() {
    for (const TableColumn& column : kReportColumns) {
      places_.emplace(column.name, columns_.size());
      columns_.push_back({column.name, column.type});
    }
  }

  void add(const RankReport& report) {
    each_column(report, [this](const std::string& name, const Value& value) {
      const auto [place, is_new] = places_.try_emplace(name, columns_.size());
      if (is_new) columns_.push_back({name, std::nullopt});
      if (value.is_nil()) return;
      std::optional<Type>& type = columns_[place->second].type;
      type = type ? common(*type, type_of(value)) : type_of(value);
    });
  }

  std::vector<TableColumn> columns() const {
    std::vector<TableColumn> out;
    for (const auto& [name, type] : columns_) out.push_back({name, type.value_or(Type::kText)});
    return out;
  }

  TableRow row(const RunRef& run, const RankReport& report) const {
    TableRow out(columns_.size());
    size_t at = 0;
    for (Value cell : {Value(run.name), Value(report.index), Value(report.attempt),
                       Value(time_text(report.time_ms))}) {
      out[at++] = std::move(cell);
    }
    each_column(report, [&](const std::string& name, const Value& value) {
      const size_t place = places_.at(name);
      const bool is_text = columns_[place].type == Type::kText;
      out[place] = is_text && !value.is_string() && !value.is_nil() ? to_json(value) : value;
    });
    return out;
  }

 private:
  struct Found {
    std::string name;
    std::optional<Type> type;  // nullopt: only nil so far
  };
  std::vector<Found> columns_;
  std::unordered_map<std::string, size_t> places_;
};

std::string number_text(double number) {
  return std::isnan(number) ? "NaN" : format_double(number);
}

bool is_number(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

bool is_formula(std::string_view text) {
  constexpr std::string_view kBeginnings = "=+-@\t\r";
  return !text.empty() && kBeginnings.find(text[0]) != text.npos && !is_number(text);
}

void add_cell(std::string& out, const Value& cell, CsvFormulas formulas) {
  if (cell.is_nil()) return;
  std::string text = cell.is_float()    ? number_text(cell.as_float())
                     : cell.is_string() ? cell.as_string()
                                        : to_json(cell);
  if (formulas == CsvFormulas::kEscaped && cell.is_string() && is_formula(text)) {
    text.insert(0, "'");
  }
  if (text.find_first_of(",\"\r\n") == std::string::npos) {
    out += text;
    return;
  }
  out += '"';
  for (const char c : text) {
    out += c;
    if (c == '"') out += c;
  }
  out += '"';
}

}  // namespace

RunTable report_table(OpenStore& store, std::span<const RunRef> runs) {
  const auto held = std::make_shared<Statement>(store.hold());
  ReportColumns columns;
  for (const RunRef& run : runs) {
    each_report(store.database(), run.run_id,
                [&](const RankReport& report) { columns.add(report); });
  }
  return {.columns = columns.columns(), .each_row = [held, columns, &store, runs](const auto& see) {
            for (const RunRef& run : runs) {
              each_report(store.database(), run.run_id,
                          [&](const RankReport& report) { see(columns.row(run, report)); });
            }
          }};
}

RunTable series_table(OpenStore& store, std::span<const RunRef> runs) {
  const auto held = std::make_shared<Statement>(store.hold());
  return {.columns = kSeriesColumns, .each_row = [held, &store, runs](const auto& see) {
            for (const RunRef& run : runs) {
              for (const std::string& key : series_keys(store.database(), run.run_id)) {
                const auto see_point = [&](const LoggedPoint& logged) {
                  see({run.name, key, logged.rank, logged.point.step,
                       time_text(logged.point.time_ms), logged.point.value});
                };
                each_valid_point(store.database(), run.run_id, key, std::nullopt, see_point);
              }
            }
          }};
}

std::string csv_line(std::span<const Value> cells, CsvFormulas formulas) {
  std::string out;
  for (size_t i = 0; i < cells.size(); ++i) {
    if (i > 0) out += ',';
    add_cell(out, cells[i], formulas);
  }
  return out + '\n';
}

void write_csv(const RunTable& table, std::ostream& out, CsvFormulas formulas) {
  TableRow names;
  for (const TableColumn& column : table.columns) names.emplace_back(column.name);
  out << csv_line(names, formulas);
  table.each_row([&](const TableRow& row) { out << csv_line(row, formulas); });
}

}  // namespace rtrain::store
