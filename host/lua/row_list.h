// host/lua/row_list.h: a list of maps for Lua, such as a million reports, made one map at a time.
#pragma once

#include <cstdint>
#include <string_view>

#include "host/base/flat_json.h"
#include "host/base/value.h"
#include "host/lua/lua.h"

namespace rtrain {

class RowList {
 public:
  // Takes the place on top of the stack; what lies above it until push() is the list's.
  explicit RowList(lua_State* L);
  ~RowList();
  RowList(const RowList&) = delete;
  RowList& operator=(const RowList&) = delete;

  // Of rows that FlatJson reads one after the other the names are looked up once.
  void add(const FlatJson& row);
  void add(const Value& row);
  // Leaves the list on top of the stack.
  void push();

 private:
  void push_names(const FlatJson& row);

  lua_State* L_;
  int list_;
  int gc_pause_;  // Lua's own, in percent
  int count_ = 0;
  int64_t names_version_ = -1;  // of those that lie above the list
};

}  // namespace rtrain
