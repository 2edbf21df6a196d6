#include "host/lua/row_list.h"

#include "host/lua/convert.h"

namespace rtrain {

namespace {

// All of a list is in use: looking for garbage each time that it has doubled would take as long as
// making it.
constexpr int kGcPausePercent = 1000;

}  // namespace

RowList::RowList(lua_State* L) : L_(L), gc_pause_(lua_gc(L, LUA_GCSETPAUSE, kGcPausePercent)) {
  lua_newtable(L);
  list_ = lua_gettop(L);
}

RowList::~RowList() { lua_gc(L_, LUA_GCSETPAUSE, gc_pause_); }

void RowList::add(const FlatJson& row) {
  if (row.names_version() != names_version_) push_names(row);
  const int size = static_cast<int>(row.size());
  lua_createtable(L_, 0, size);
  for (int i = 0; i < size; ++i) {
    lua_pushvalue(L_, list_ + 1 + i);
    lua_pushnumber(L_, row.number(static_cast<size_t>(i)));
    lua_rawset(L_, -3);
  }
  lua_rawseti(L_, list_, ++count_);
}

void RowList::add(const Value& row) {
  push_value(L_, row);
  lua_rawseti(L_, list_, ++count_);
}

void RowList::push() { lua_settop(L_, list_); }

void RowList::push_names(const FlatJson& row) {
  lua_settop(L_, list_);
  luaL_checkstack(L_, static_cast<int>(row.size()) + 8, "too many names");
  for (size_t i = 0; i < row.size(); ++i) {
    const std::string_view name = row.name(i);
    lua_pushlstring(L_, name.data(), name.size());
  }
  names_version_ = row.names_version();
}

}  // namespace rtrain
