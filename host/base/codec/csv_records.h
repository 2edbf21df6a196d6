// host/base/codec/csv_records.h: the unconverted cells of a CSV text (RFC 4180), also with ';' or a
// tab as separator.
//
// For tables of results that fit into memory; Arrow reads data sets (host/arrow/).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace rtrain {

struct CsvRecord {
  std::vector<std::string> cells;
  size_t line = 0;  // where it begins, from 1
};

// Returns the separator that occurs most often in the first line outside of quotes: , ; or a tab.
char csv_separator(std::string_view text);

// Lines end in \n or \r\n. Ignores empty lines and a byte order mark. Throws Error(kArgument) with
// the line if a quoted cell does not end, or has text after its closing quote.
std::vector<CsvRecord> read_csv_records(std::string_view text, char separator);

}  // namespace rtrain
