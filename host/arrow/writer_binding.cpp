// host/arrow/writer_binding.cpp: parquet_writer, csv_writer and ipc_writer for Lua.
#include "host/arrow/bindings.h"
#include "host/arrow/writers/table_writer.h"
#include "host/base/text/text.h"
#include "host/lua/libraries/arrow_batch.h"
#include "host/lua/options.h"

template <>
struct rtrain::lua::Class<rtrain::arrow::TableWriter> {
  using Slot = std::unique_ptr<rtrain::arrow::TableWriter>;
  static constexpr const char* kName = "rtrain.ArrowWriter";
};

namespace rtrain::arrow {
namespace {

int write(lua_State* L) {
  lua::check<TableWriter>(L, 1)->write(*lua::check<api::ArrowBatch>(L, 2));
  return 0;
}

int close(lua_State* L) {
  lua::check<TableWriter>(L, 1)->close();
  return 0;
}

int64_t positive(const lua::Options& given, const char* name, int64_t fallback) {
  const int64_t out = given.integer(name, fallback);
  if (out >= 1) return out;
  throw Error(Code::kArgument,
              cat("parquet_writer: ", std::string_view(name), " has to be at least 1, not ", out));
}

int parquet_writer(lua_State* L) {
  const std::string path = check_path(L, 1, "parquet_writer");
  const lua::Options given(
      L, 2, "parquet_writer",
      {"compression", "compression_level", "row_group_size", "row_group_bytes", "use_dictionary"});
  ParquetWriterOptions options;
  options.compression = given.text("compression", options.compression);
  given.push("compression_level");
  if (!lua_isnil(L, -1)) {
    options.compression_level = static_cast<int>(given.integer("compression_level", 0));
  }
  options.row_group_size = positive(given, "row_group_size", options.row_group_size);
  options.row_group_bytes = positive(given, "row_group_bytes", options.row_group_bytes);
  options.use_dictionary = given.boolean("use_dictionary", options.use_dictionary);
  lua::push<TableWriter>(L, make_parquet_writer(path, options));
  return 1;
}

int csv_writer(lua_State* L) {
  const std::string path = check_path(L, 1, "csv_writer");
  const lua::Options given(L, 2, "csv_writer", {"delimiter", "header", "quoting", "null_text"});
  CsvWriterOptions options;
  const std::string delimiter = given.text("delimiter", ",");
  if (delimiter.size() != 1) {
    throw Error(Code::kArgument,
                cat("csv_writer: delimiter has to be one character, not '", delimiter, "'"));
  }
  options.delimiter = delimiter[0];
  options.header = given.boolean("header", options.header);
  options.quoting = given.text("quoting", options.quoting);
  options.null_text = given.text("null_text", options.null_text);
  lua::push<TableWriter>(L, make_csv_writer(path, options));
  return 1;
}

int ipc_writer(lua_State* L) {
  const std::string path = check_path(L, 1, "ipc_writer");
  const lua::Options given(L, 2, "ipc_writer", {"stream", "compression", "sync"});
  IpcWriterOptions options;
  options.stream = given.boolean("stream", options.stream);
  options.compression = given.text("compression", options.compression);
  options.sync = given.boolean("sync", options.sync);
  lua::push<TableWriter>(L, make_ipc_writer(path, options));
  return 1;
}

}  // namespace

void add_writers(lua_State* L) {
  static constexpr std::array kTableWriterMethods = {lua::method<&write>("write"),
                                                     lua::method<&close>("close")};
  lua::register_class<TableWriter>(L, kTableWriterMethods);
  lua::add_function(L, lua::method<&parquet_writer>("parquet_writer"));
  lua::add_function(L, lua::method<&csv_writer>("csv_writer"));
  lua::add_function(L, lua::method<&ipc_writer>("ipc_writer"));
}

}  // namespace rtrain::arrow
