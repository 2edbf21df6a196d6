// host/base/codec/csv_records.h: the cells of a CSV text (RFC 4180), as they stand there; also
// where ';' or a tab separates them.
//
// For tables of results, which fit into memory; data sets are read by Arrow (host/arrow/).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace rtrain {

struct CsvRecord {
  std::vector<std::string> cells;
  size_t line = 0;  // it begins at, from 1
};

// Of ',', ';' and a tab the one that the first line has most often outside of quotes.
char csv_separator(std::string_view text);

// Lines end in \n or \r\n; empty ones are left out, and so is a byte order mark. Throws
// Error(kArgument) with the line where a quoted cell has no end or goes on behind its end.
std::vector<CsvRecord> read_csv_records(std::string_view text, char separator);

}  // namespace rtrain
