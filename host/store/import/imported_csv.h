// host/store/import/imported_csv.h: runs out of CSV tables.
//
// A table with the columns run, index and attempt is one of `rtrain export`, with run, key and
// value one of its --series; both become what was exported: "val/loss" a map, a JSON text what it
// says. Any other table is one run. Each row is a report, whose number is in the step column, or
// that of the row; a column for times is known by its name; all other columns with a name are
// metrics, "val/loss" in a map unless there is a column "val" too.
//
// Cells of other programs are read as pandas reads them, without the spaces around them: True and
// FALSE are booleans, None, NA, N/A, null and the like have no value, as empty ones. NaN does have
// one here: rtrain tells it from a metric that a report does not have.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "host/store/import/imported_run.h"

namespace rtrain {

struct CsvOptions {
  std::string name;         // of a run that the table does not name
  std::string step_column;  // empty: step, Step, global_step, _step or index, if one is there
  int64_t time_ms = 0;      // of rows without a time
};

struct ImportedCsv {
  std::vector<ImportedRun> runs;  // names, reports and series are filled in
  // Of another program's table: "note ('two words' in line 2)", the first cell that is not a
  // number.
  std::vector<std::string> text_columns;
};

// Throws Error(kUsage) with the line of what is wrong.
ImportedCsv read_imported_csv(std::string_view text, const CsvOptions& options);

}  // namespace rtrain
