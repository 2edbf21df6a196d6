// host/store/import/imported_csv.h: reads runs from CSV tables.
//
// A table with the columns run, index and attempt is an export of `rtrain export`; with run, key
// and value, of its --series. Both become what was exported: "val/loss" a nested map, JSON text the
// value it encodes. Any other table is one run. Each of its rows is a report, numbered by the step
// column or by the row. A column of times is recognized by its name. All other columns with a name
// are metrics; "val/loss" is nested unless there is also a column "val".
//
// Cells of other programs are read as pandas reads them, without spaces around them: True and FALSE
// are booleans; None, NA, N/A, null and similar cells are missing values, as are empty ones. Unlike
// in pandas, NaN is a value, because rtrain distinguishes it from a missing metric.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "host/store/import/imported_run.h"

namespace rtrain::store {

struct CsvOptions {
  std::string name;         // for a run that the table does not name
  std::string step_column;  // empty: step, Step, global_step, _step or index, if one is there
  int64_t time_ms = 0;      // for rows without a time
};

struct ImportedCsv {
  std::vector<ImportedRun> runs;  // with names, reports and series
  // For another program's table: "note ('two words' in line 2)", each text column with its first
  // cell that is not a number.
  std::vector<std::string> text_columns;
};

// Throws Error(kUsage) naming the line of the error.
ImportedCsv read_imported_csv(std::string_view text, const CsvOptions& options);

}  // namespace rtrain::store
