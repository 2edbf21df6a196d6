// host/store/run_table.h: what runs reported, as a table: one row for each report, one column for
// each metric. Metrics of maps have columns of their own, "val/loss".
#pragma once

#include <span>
#include <string>
#include <vector>

#include "host/base/value.h"
#include "host/store/run_reader.h"

namespace rtrain {

struct TableColumn {
  enum class Type { kInteger, kFloat, kBoolean, kText };
  std::string name;
  Type type = Type::kText;   // what holds all cells; lists and mixtures are JSON texts
  std::vector<Value> cells;  // nil where a report has no such metric
};

struct RunTable {
  std::vector<TableColumn> columns;
  size_t num_rows = 0;
};

// Columns: run, index, attempt, time, then the metrics in the order in which they came.
RunTable report_table(RunReader& reader, std::span<const RunRef> runs);

// What train.log recorded: run, key, rank, step, time, value.
RunTable series_table(RunReader& reader, std::span<const RunRef> runs);

// RFC 4180 with a header. Nil is empty; NaN, inf and -inf are written so.
std::string csv_text(const RunTable& table);

}  // namespace rtrain
