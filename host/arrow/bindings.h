// host/arrow/bindings.h: the parts that together make the module table `rtrain._arrow`, and what
// they ask of arguments.
#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "host/lua/class.h"

namespace rtrain {

// Each adds its functions to the table at the top of the stack; called once for each Lua state.
void add_parquet_reader(lua_State* L);  // open_parquet
void add_readers(lua_State* L);         // open_csv, open_json, open_ipc
void add_writers(lua_State* L);         // parquet_writer, csv_writer, ipc_writer

void add_function(lua_State* L, const Method& function);

// Pushes a list of {name =, type =}.
void push_schema(lua_State* L, const arrow::Schema& schema);

// Each throws Error(kArgument) that says what was expected and what came.
std::string check_path(lua_State* L, int index, std::string_view function);
int64_t check_integer(lua_State* L, int index, std::string_view what);
std::vector<std::string> check_texts(lua_State* L, int index, std::string_view what);

}  // namespace rtrain
