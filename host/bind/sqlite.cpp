#include "host/bind/sqlite.h"

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "host/lua/class.h"
#include "host/lua/convert.h"
#include "host/lua/libraries/arrow_batch.h"
#include "host/store/foreign/sqlite_query.h"

template <>
struct rtrain::lua::Class<rtrain::store::SqliteQuery> {
  using Slot = std::unique_ptr<rtrain::store::SqliteQuery>;
  static constexpr const char* kName = "rtrain.SqliteQuery";
};

namespace rtrain::bind {
namespace {

using store::SqliteQuery;

int open_query(lua_State* L) {
  const std::string path = luaL_checkstring(L, 1);
  size_t size = 0;
  const char* sql = luaL_checklstring(L, 2, &size);
  auto query = std::make_unique<SqliteQuery>(path, std::string(sql, size),
                                             lua::to_value(L, 3, "read_sql: sql_params"));
  if (!lua_isnoneornil(L, 4)) query->set_types(lua::to_value(L, 4));
  lua::push<SqliteQuery>(L, std::move(query));
  return 1;
}

int columns(lua_State* L) {
  lua::push_value(L, lua::check<SqliteQuery>(L, 1)->columns());
  return 1;
}

int skip(lua_State* L) {
  const auto& query = lua::check<SqliteQuery>(L, 1);
  lua_pushnumber(L, static_cast<double>(query->skip(static_cast<int64_t>(luaL_checknumber(L, 2)))));
  return 1;
}

int next(lua_State* L) {
  const auto& query = lua::check<SqliteQuery>(L, 1);
  auto batch = query->next(static_cast<int64_t>(luaL_checknumber(L, 2)),
                           static_cast<int64_t>(luaL_checknumber(L, 3)));
  if (batch == nullptr) return 0;
  lua::push<api::ArrowBatch>(L, std::move(batch));
  return 1;
}

}  // namespace

int open_sqlite(lua_State* L) {
  lua::register_arrow_batch(L);
  static constexpr std::array kQueryMethods = {
      lua::method<&columns>("columns"), lua::method<&skip>("skip"), lua::method<&next>("next")};
  lua::register_class<SqliteQuery>(L, kQueryMethods);
  static constexpr std::array kFunctions = {lua::method<&open_query>("open")};
  lua::push_functions(L, kFunctions);
  return 1;
}

}  // namespace rtrain::bind
