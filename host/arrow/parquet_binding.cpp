// host/arrow/parquet_binding.cpp: open_parquet and its two classes for Lua.
#include "host/arrow/bindings.h"
#include "host/arrow/cursor_class.h"
#include "host/arrow/readers/parquet_reader.h"

template <>
struct rtrain::lua::Class<rtrain::arrow::ParquetReader> {
  using Slot = std::shared_ptr<rtrain::arrow::ParquetReader>;
  static constexpr const char* kName = "rtrain.ParquetReader";
};

namespace rtrain::arrow {
namespace {

int schema(lua_State* L) {
  push_schema(L, lua::check<ParquetReader>(L, 1)->schema());
  return 1;
}

int num_rows(lua_State* L) {
  lua_pushnumber(L, static_cast<double>(lua::check<ParquetReader>(L, 1)->num_rows()));
  return 1;
}

int num_row_groups(lua_State* L) {
  lua_pushinteger(L, lua::check<ParquetReader>(L, 1)->num_row_groups());
  return 1;
}

int row_group_rows(lua_State* L) {
  const auto& reader = lua::check<ParquetReader>(L, 1);
  const int64_t group = check_integer(L, 2, "row_group_rows: row group");
  lua_pushnumber(L, static_cast<double>(reader->row_group_rows(group)));
  return 1;
}

int row_group_bytes(lua_State* L) {
  const auto& reader = lua::check<ParquetReader>(L, 1);
  const int64_t group = check_integer(L, 2, "row_group_bytes: row group");
  lua_pushnumber(L, static_cast<double>(reader->row_group_bytes(group)));
  return 1;
}

int read(lua_State* L) {
  const auto& reader = lua::check<ParquetReader>(L, 1);
  const int64_t group = check_integer(L, 2, "read: row group");
  std::optional<std::vector<std::string>> columns;
  if (!lua_isnoneornil(L, 3)) columns = check_texts(L, 3, "read: columns");
  const int64_t max_rows = lua_isnoneornil(L, 4) ? 0 : check_integer(L, 4, "read: max_rows");
  lua::push<TableCursor>(L, reader->read(group, columns, max_rows));
  return 1;
}

int open_parquet(lua_State* L) {
  lua::push<ParquetReader>(L, std::make_shared<ParquetReader>(check_path(L, 1, "open_parquet")));
  return 1;
}

}  // namespace

void add_parquet_reader(lua_State* L) {
  static constexpr std::array kParquetReaderMethods = {
      lua::method<&schema>("schema"),
      lua::method<&num_rows>("num_rows"),
      lua::method<&num_row_groups>("num_row_groups"),
      lua::method<&row_group_rows>("row_group_rows"),
      lua::method<&row_group_bytes>("row_group_bytes"),
      lua::method<&read>("read")};
  lua::register_class<ParquetReader>(L, kParquetReaderMethods);
  lua::add_function(L, lua::method<&open_parquet>("open_parquet"));
}

}  // namespace rtrain::arrow
