// host/arrow/ipc_binding.cpp: open_ipc_batches and its class for Lua.
#include "host/arrow/bindings.h"
#include "host/arrow/cursor_class.h"
#include "host/arrow/readers/ipc_batches.h"

template <>
struct rtrain::lua::Class<rtrain::arrow::IpcBatches> {
  using Slot = std::shared_ptr<rtrain::arrow::IpcBatches>;
  static constexpr const char* kName = "rtrain.IpcBatches";
};

namespace rtrain::arrow {
namespace {

int ipc_schema(lua_State* L) {
  push_schema(L, lua::check<IpcBatches>(L, 1)->schema());
  return 1;
}

int num_batches(lua_State* L) {
  lua_pushnumber(L, static_cast<double>(lua::check<IpcBatches>(L, 1)->num_batches()));
  return 1;
}

int batch_rows(lua_State* L) {
  const auto& reader = lua::check<IpcBatches>(L, 1);
  const int64_t batch = check_integer(L, 2, "batch_rows: batch");
  lua_pushnumber(L, static_cast<double>(reader->batch_rows(batch)));
  return 1;
}

int batch_bytes(lua_State* L) {
  const auto& reader = lua::check<IpcBatches>(L, 1);
  const int64_t batch = check_integer(L, 2, "batch_bytes: batch");
  lua_pushnumber(L, static_cast<double>(reader->batch_bytes(batch)));
  return 1;
}

int read_batches(lua_State* L) {
  const auto& reader = lua::check<IpcBatches>(L, 1);
  const int64_t first = check_integer(L, 2, "read: first batch");
  const int64_t count = check_integer(L, 3, "read: number of batches");
  std::optional<std::vector<std::string>> columns;
  if (!lua_isnoneornil(L, 4)) columns = check_texts(L, 4, "read: columns");
  const int64_t max_rows = lua_isnoneornil(L, 5) ? 0 : check_integer(L, 5, "read: max_rows");
  lua::push<TableCursor>(L, reader->read(first, count, columns, max_rows));
  return 1;
}

int open_ipc_batches(lua_State* L) {
  lua::push<IpcBatches>(L, std::make_shared<IpcBatches>(check_path(L, 1, "open_ipc_batches")));
  return 1;
}

}  // namespace

void add_ipc_batches(lua_State* L) {
  static constexpr std::array kIpcBatchesMethods = {
      lua::method<&ipc_schema>("schema"), lua::method<&num_batches>("num_batches"),
      lua::method<&batch_rows>("batch_rows"), lua::method<&batch_bytes>("batch_bytes"),
      lua::method<&read_batches>("read")};
  lua::register_class<IpcBatches>(L, kIpcBatchesMethods);
  lua::add_function(L, lua::method<&open_ipc_batches>("open_ipc_batches"));
}

}  // namespace rtrain::arrow
