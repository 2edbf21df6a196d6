#include "host/store/run_table.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "host/base/json.h"
#include "host/base/text.h"

namespace rtrain {
namespace {

using Type = TableColumn::Type;

std::string key_text(const Key& key) {
  const auto* name = std::get_if<std::string>(&key);
  return name != nullptr ? *name : std::to_string(std::get<int64_t>(key));
}

class Builder {
 public:
  // Begins a row.
  void begin() { ++table_.num_rows; }

  void set(const std::string& name, const Value& value) {
    if (value.is_map()) {
      for (const auto& [key, item] : value.as_map()) set(cat(name, "/", key_text(key)), item);
      return;
    }
    const auto [place, is_new] = positions_.try_emplace(name, table_.columns.size());
    if (is_new) table_.columns.push_back({.name = name, .cells = {}});
    std::vector<Value>& cells = table_.columns[place->second].cells;
    cells.resize(table_.num_rows);
    cells.back() = value;
  }

  RunTable finish() {
    for (TableColumn& column : table_.columns) {
      column.cells.resize(table_.num_rows);
      set_type(column);
    }
    return std::move(table_);
  }

 private:
  static Type type_of(const Value& value) {
    if (value.is_int()) return Type::kInteger;
    if (value.is_float()) return Type::kFloat;
    return value.is_bool() ? Type::kBoolean : Type::kText;
  }

  static void set_type(TableColumn& column) {
    std::optional<Type> type;
    for (const Value& cell : column.cells) {
      if (cell.is_nil()) continue;
      const Type own = type_of(cell);
      const auto is_number = [](Type t) { return t == Type::kInteger || t == Type::kFloat; };
      if (!type || *type == own) {
        type = own;
      } else {
        type = is_number(*type) && is_number(own) ? Type::kFloat : Type::kText;
        if (type == Type::kText) break;
      }
    }
    column.type = type.value_or(Type::kText);
    if (column.type != Type::kText) return;
    for (Value& cell : column.cells) {
      if (!cell.is_nil() && !cell.is_string()) cell = to_json(cell);
    }
  }

  RunTable table_;
  std::unordered_map<std::string, size_t> positions_;
};

std::string number_text(double number) {
  return std::isnan(number) ? "NaN" : format_double(number);
}

void add_cell(std::string& out, const Value& cell) {
  if (cell.is_nil()) return;
  if (cell.is_float()) {
    out += number_text(cell.as_float());
    return;
  }
  if (!cell.is_string()) {
    out += to_json(cell);
    return;
  }
  const std::string& text = cell.as_string();
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

RunTable report_table(RunReader& reader, std::span<const RunRef> runs) {
  Builder table;
  for (const RunRef& run : runs) {
    for (const Value& report : reader.metrics(run, false, false)) {
      table.begin();
      table.set("run", run.name);
      for (const char* key : {"index", "attempt", "time"}) table.set(key, report[key]);
      if (!report["metrics"].is_map()) continue;
      for (const auto& [key, value] : report["metrics"].as_map()) {
        const std::string name = key_text(key);
        const bool taken = name == "run" || name == "index" || name == "attempt" || name == "time";
        table.set(taken ? cat("metrics/", name) : name, value);
      }
    }
  }
  return table.finish();
}

RunTable series_table(RunReader& reader, std::span<const RunRef> runs) {
  Builder table;
  for (const RunRef& run : runs) {
    for (const std::string& key : reader.series_names(run)) {
      for (const Value& point : reader.series(run, key, false)) {
        table.begin();
        table.set("run", run.name);
        table.set("key", key);
        for (const char* name : {"rank", "step", "time", "value"}) table.set(name, point[name]);
      }
    }
  }
  return table.finish();
}

std::string csv_text(const RunTable& table) {
  std::string out;
  for (size_t i = 0; i < table.columns.size(); ++i) {
    if (i > 0) out += ',';
    add_cell(out, table.columns[i].name);
  }
  if (!table.columns.empty()) out += '\n';
  for (size_t row = 0; row < table.num_rows; ++row) {
    for (size_t i = 0; i < table.columns.size(); ++i) {
      if (i > 0) out += ',';
      add_cell(out, table.columns[i].cells[row]);
    }
    out += '\n';
  }
  return out;
}

}  // namespace rtrain
