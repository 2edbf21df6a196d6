// host/store/read/sql_names.h: finds the names in a user's SQL expression.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace rtrain::store {

struct SqlName {
  size_t begin = 0;  // its range in the expression, with quotes
  size_t end = 0;
  std::string name;     // without its quotes
  bool quoted = false;  // else it may be a keyword
};

// Names of columns, tables and keywords, in order, without names of functions, strings and
// comments. For an expression that SQLite would refuse it may find only some names.
std::vector<SqlName> names_in_sql(std::string_view sql);

}  // namespace rtrain::store
