// host/engine/data/arrow/arrow.cpp: torch._C.data.from_arrow and to_arrow.
#include <array>

#include "host/base/text/text.h"
#include "host/engine/data/arrow/arrow_export.h"
#include "host/engine/data/arrow/arrow_import.h"
#include "host/engine/runtime/guard.h"
#include "host/engine/runtime/open.h"
#include "host/lua/libraries/arrow_batch.h"

namespace rtrain::engine {
namespace {

// from_arrow(batch) → names, columns
int from_arrow(lua_State* L) {
  const std::shared_ptr<api::ArrowBatch> batch = lua::check<api::ArrowBatch>(L, 1);
  const auto count = static_cast<int>(batch->columns.size());
  lua_createtable(L, count, 0);
  lua_createtable(L, count, 0);
  for (int i = 0; i < count; ++i) {
    const auto& column = batch->columns[static_cast<size_t>(i)];
    lua_pushlstring(L, column->name.data(), column->name.size());
    lua_rawseti(L, -3, i + 1);
    push_arrow_column(L, column);
    lua_rawseti(L, -2, i + 1);
  }
  return 2;
}

std::string column_name(lua_State* L, int list, int i) {
  lua_rawgeti(L, list, i);
  if (lua_type(L, -1) != LUA_TSTRING) {
    throw Error(Code::kArgument,
                cat("to_arrow: names[", i, "]: expected a string, got ", luaL_typename(L, -1)));
  }
  size_t size = 0;
  const char* text = lua_tolstring(L, -1, &size);
  std::string out(text, size);
  lua_pop(L, 1);
  return out;
}

// to_arrow(names, columns) → batch
int to_arrow(lua_State* L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  luaL_checktype(L, 2, LUA_TTABLE);
  auto batch = std::make_shared<api::ArrowBatch>();
  const auto count = static_cast<int>(lua_objlen(L, 1));
  for (int i = 1; i <= count; ++i) {
    const std::string name = column_name(L, 1, i);
    lua_rawgeti(L, 2, i);
    batch->columns.push_back(to_arrow_column(L, lua_gettop(L), name));
    lua_pop(L, 1);
    const int64_t rows = batch->columns.back()->array.length;
    if (i == 1) batch->num_rows = rows;
    if (rows != batch->num_rows) {
      throw Error(Code::kArgument, cat("to_arrow: column '", name, "' has ", rows, " rows, '",
                                       batch->columns.front()->name, "' ", batch->num_rows));
    }
  }
  lua::push<api::ArrowBatch>(L, std::move(batch));
  return 1;
}

}  // namespace

void open_arrow_columns(lua_State* L) {
  static constexpr std::array kFunctions = {torch_method<&from_arrow>("from_arrow"),
                                            torch_method<&to_arrow>("to_arrow")};
  lua::register_arrow_batch(L);
  lua_getfield(L, -1, "data");
  lua::add_functions(L, kFunctions);
  lua_pop(L, 1);
}

}  // namespace rtrain::engine
