// host/store/read/sql_names.h: the names in an SQL expression that a user wrote.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace rtrain {

struct SqlName {
  size_t begin = 0;  // of its text in the expression, quotes included
  size_t end = 0;
  std::string name;     // without its quotes
  bool quoted = false;  // else it may be a keyword
};

// Names of columns, tables and keywords, in order; names of functions, strings and comments are
// left out. An expression that SQLite would refuse gives some of its names.
std::vector<SqlName> names_in_sql(std::string_view sql);

}  // namespace rtrain
