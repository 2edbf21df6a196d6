// host/arrow/cursor_class.h: TableCursor for Lua: schema(), next().
#pragma once

#include <memory>

#include "host/arrow/readers/table_cursor.h"
#include "host/lua/class.h"

template <>
struct rtrain::lua::Class<rtrain::arrow::TableCursor> {
  using Slot = std::unique_ptr<rtrain::arrow::TableCursor>;
  static constexpr const char* kName = "rtrain.ArrowCursor";
};
