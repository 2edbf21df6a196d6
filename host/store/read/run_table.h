// host/store/read/run_table.h: reports of runs as a table with one row per report and one column
// per metric. Nested metrics have columns like "val/loss".
//
// Rows are read from the store one at a time. Rows and columns come from the store's state at the
// time the table was made. The store must outlive the table.
#pragma once

#include <cstdint>
#include <functional>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "host/base/value.h"
#include "host/store/read/open_store.h"

namespace rtrain::store {

struct TableColumn {
  enum class Type { kInteger, kFloat, kBoolean, kText };
  std::string name;
  Type type = Type::kText;  // can hold all cells; lists and mixed types are JSON text
};

// One cell per column: of its type, an integer in a column of floats, or nil if the report lacks
// the metric.
using TableRow = std::vector<Value>;

struct RunTable {
  std::vector<TableColumn> columns;
  // Calls see(row) for each row, in order.
  std::function<void(const std::function<void(const TableRow&)>& see)> each_row;
};

// Columns: run, index, attempt, time, then metrics in order of first appearance. Reads all reports
// once to find the columns.
RunTable report_table(OpenStore& store, std::span<const RunRef> runs);

// The points of train.log: run, key, rank, step, time, value.
RunTable series_table(OpenStore& store, std::span<const RunRef> runs);

// How to write text cells that spreadsheet programs would evaluate as formulas, because they begin
// with '=', '+', '-', '@', a tab or a carriage return: unchanged, or after a "'". Numbers are not
// affected.
enum class CsvFormulas : uint8_t { kKept, kEscaped };

// A line of RFC 4180, with its line end. Nil is empty; NaN, inf and -inf are written as such; lists
// and maps are JSON text.
std::string csv_line(std::span<const Value> cells, CsvFormulas formulas = CsvFormulas::kKept);

// Writes a line with the column names, then the rows.
void write_csv(const RunTable& table, std::ostream& out, CsvFormulas formulas = CsvFormulas::kKept);

}  // namespace rtrain::store
