// host/engine/data/arrow.cpp: torch._C.data.from_arrow.
#include <array>

#include "host/engine/data/arrow_import.h"
#include "host/engine/engine.h"
#include "host/engine/guard.h"
#include "host/lua/arrow_batch.h"

namespace rtrain {
namespace {

// from_arrow(batch) → names, columns
int from_arrow(lua_State* L) {
  const std::shared_ptr<ArrowBatch> batch = check<ArrowBatch>(L, 1);
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

}  // namespace

void open_arrow_columns(lua_State* L) {
  static constexpr std::array kFunctions = {torch_method<&from_arrow>("from_arrow")};
  register_class<ArrowBatch>(L);
  lua_getfield(L, -1, "data");
  add_functions(L, kFunctions);
  lua_pop(L, 1);
}

}  // namespace rtrain
