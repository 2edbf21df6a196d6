// host/bind/sqlite.h: the module `base._sqlite`: queries on SQLite files of the user.
//
//   open(path, sql, parameters or nil, types or nil) → a query; parameters: a list, or a table by
//     name; types: those of columns(), in order, if they are known
//     query:columns() → a list of {name =, type =}
//     query:skip(n) → how many rows there were
//     query:next(max_rows, max_bytes) → a batch for torch._C.data.from_arrow; nothing at the end
//
// host/store/foreign/sqlite_query.h says more.
#pragma once

#include "host/lua/lua.h"

namespace rtrain::bind {

// Pushes the module.
int open_sqlite(lua_State* L);

}  // namespace rtrain::bind
