// host/arrow/cursor_class.h: TableCursor for Lua: schema(), next().
#pragma once

#include <memory>

#include "host/arrow/readers/table_cursor.h"
#include "host/lua/class.h"

namespace rtrain {

template <>
struct Class<TableCursor> {
  using Slot = std::unique_ptr<TableCursor>;
  static constexpr const char* kName = "rtrain.ArrowCursor";
};

}  // namespace rtrain
