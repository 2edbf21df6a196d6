// host/store/read/run_table.h: what runs reported, as a table: one row for each report, one column
// for each metric. Metrics of maps have columns of their own, "val/loss".
//
// Rows are read from the store as they are asked for: one is held at a time. All of them, and the
// columns, are of the store as it was when the table was made; its reader has to outlive it.
#pragma once

#include <cstdint>
#include <functional>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "host/base/value.h"
#include "host/store/read/run_reader.h"

namespace rtrain {

struct TableColumn {
  enum class Type { kInteger, kFloat, kBoolean, kText };
  std::string name;
  Type type = Type::kText;  // what holds all cells; lists and mixtures are JSON texts
};

// A cell for each column: of its type, an integer in one of floats, or nil where a report has no
// such metric.
using TableRow = std::vector<Value>;

struct RunTable {
  std::vector<TableColumn> columns;
  // Calls see(row) for each row, in order.
  std::function<void(const std::function<void(const TableRow&)>& see)> each_row;
};

// Columns: run, index, attempt, time, then the metrics in the order in which they came. Reads all
// reports once, for the columns.
RunTable report_table(RunReader& reader, std::span<const RunRef> runs);

// What train.log recorded: run, key, rank, step, time, value.
RunTable series_table(RunReader& reader, std::span<const RunRef> runs);

// What stands in a cell whose text a program for spreadsheets would compute, since it begins with
// '=', '+', '-', '@', a tab or a carriage return: the text, or the text behind a "'". A number is
// no such text.
enum class CsvFormulas : uint8_t { kKept, kEscaped };

// A line of RFC 4180 with its end. Nil is empty; NaN, inf and -inf are written so; lists and maps
// are JSON texts.
std::string csv_line(std::span<const Value> cells, CsvFormulas formulas = CsvFormulas::kKept);

// The names of the columns as a line, then the rows.
void write_csv(const RunTable& table, std::ostream& out, CsvFormulas formulas = CsvFormulas::kKept);

}  // namespace rtrain
