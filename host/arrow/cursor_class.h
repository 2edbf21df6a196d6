// host/arrow/cursor_class.h: TableCursor for Lua: schema(), next().
#pragma once

#include <array>
#include <memory>

#include "host/arrow/table_cursor.h"
#include "host/lua/class.h"

namespace rtrain {

int cursor_schema(lua_State* L);
int cursor_next(lua_State* L);

template <>
struct Class<TableCursor> {
  using Slot = std::unique_ptr<TableCursor>;
  static constexpr const char* kName = "rtrain.ArrowCursor";
  static constexpr std::array kMethods = {method<&cursor_schema>("schema"),
                                          method<&cursor_next>("next")};
};

}  // namespace rtrain
