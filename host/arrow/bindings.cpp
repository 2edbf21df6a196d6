#include "host/arrow/bindings.h"

#include <arrow/type.h>

#include <cmath>

#include "host/arrow/types/memory.h"
#include "host/arrow/types/type_name.h"
#include "host/base/text/text.h"
#include "host/lua/libraries/arrow_batch.h"

namespace rtrain::arrow {
namespace {

[[noreturn]] void refuse(lua_State* L, int index, std::string_view what, std::string_view wanted) {
  throw Error(Code::kArgument, cat(what, ": expected ", wanted, ", got ", luaL_typename(L, index)));
}

int bytes_allocated(lua_State* L) {
  lua_pushnumber(L, static_cast<double>(memory_pool()->bytes_allocated()));
  return 1;
}

}  // namespace

void push_schema(lua_State* L, const ::arrow::Schema& schema) {
  lua_createtable(L, schema.num_fields(), 0);
  for (int i = 0; i < schema.num_fields(); ++i) {
    const ::arrow::Field& field = *schema.field(i);
    const std::string type = type_name(*field.type());
    lua_createtable(L, 0, 2);
    lua_pushlstring(L, field.name().data(), field.name().size());
    lua_setfield(L, -2, "name");
    lua_pushlstring(L, type.data(), type.size());
    lua_setfield(L, -2, "type");
    lua_rawseti(L, -2, i + 1);
  }
}

std::string check_path(lua_State* L, int index, std::string_view function) {
  if (lua_type(L, index) != LUA_TSTRING) refuse(L, index, cat(function, ": path"), "a string");
  size_t size = 0;
  const char* text = lua_tolstring(L, index, &size);
  std::string path(text, size);
  if (path.find('\0') != std::string::npos) {
    throw Error(Code::kArgument, cat(function, ": path: it holds a zero byte"));
  }
  return path;
}

int64_t check_integer(lua_State* L, int index, std::string_view what) {
  if (lua_type(L, index) != LUA_TNUMBER) refuse(L, index, what, "an integer");
  const double number = lua_tonumber(L, index);
  if (number != std::floor(number) || std::abs(number) > 0x1p53) {
    throw Error(Code::kArgument, cat(what, ": expected an integer, got ", number));
  }
  return static_cast<int64_t>(number);
}

std::vector<std::string> check_texts(lua_State* L, int index, std::string_view what) {
  if (lua_type(L, index) != LUA_TTABLE) refuse(L, index, what, "a list of strings");
  std::vector<std::string> out;
  for (int i = 1;; ++i) {
    lua_rawgeti(L, index, i);
    if (lua_isnil(L, -1)) break;
    if (lua_type(L, -1) != LUA_TSTRING) refuse(L, -1, cat(what, "[", i, "]"), "a string");
    size_t size = 0;
    const char* text = lua_tolstring(L, -1, &size);
    out.emplace_back(text, size);
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
  return out;
}

}  // namespace rtrain::arrow

extern "C" __attribute__((visibility("default"))) int rtrain_arrow_open(lua_State* L) {
  using namespace rtrain;
  using namespace rtrain::arrow;
  lua::register_arrow_batch(L);
  lua_newtable(L);
  add_parquet_reader(L);
  add_ipc_batches(L);
  add_readers(L);
  add_writers(L);
  add_objects(L);
  lua::add_function(L, lua::method<&bytes_allocated>("bytes_allocated"));
  return 1;
}
