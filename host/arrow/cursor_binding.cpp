// host/arrow/cursor_binding.cpp: open_csv, open_json, open_ipc, open_tfrecords and their cursors,
// open_text for Lua.
#include <algorithm>
#include <optional>

#include "host/arrow/bindings.h"
#include "host/arrow/cursor_class.h"
#include "host/arrow/readers/csv_reader.h"
#include "host/arrow/readers/example_reader.h"
#include "host/arrow/readers/ipc_reader.h"
#include "host/arrow/readers/json_reader.h"
#include "host/arrow/readers/text_input.h"
#include "host/arrow/types/memory.h"
#include "host/arrow/types/type_name.h"
#include "host/base/text/text.h"
#include "host/lua/libraries/arrow_batch.h"
#include "host/lua/options.h"

template <>
struct rtrain::lua::Class<rtrain::arrow::TextInput> {
  using Slot = std::unique_ptr<rtrain::arrow::TextInput>;
  static constexpr const char* kName = "rtrain.TextInput";
};

namespace rtrain::arrow {

int cursor_schema(lua_State* L) {
  push_schema(L, lua::check<TableCursor>(L, 1)->schema());
  return 1;
}

// Lua counts a batch as eight bytes, so this function triggers the collector by the batches' real
// size. The engine does the same for tensors.
static void trigger_collection(lua_State* L, int64_t bytes) {
  constexpr int64_t kMiB = int64_t{1} << 20;
  static thread_local int64_t uncollected = 0;
  uncollected += std::max<int64_t>(bytes, 0);
  if (uncollected < 16 * kMiB) return;
  lua_gc(L, LUA_GCSTEP, static_cast<int>(std::min<int64_t>(uncollected / kMiB, 400)));
  uncollected = 0;
}

int cursor_next(lua_State* L) {
  const int64_t before = memory_pool()->bytes_allocated();
  auto batch = lua::check<TableCursor>(L, 1)->next();
  if (batch == nullptr) return 0;
  lua::push<api::ArrowBatch>(L, std::move(batch));
  trigger_collection(L, memory_pool()->bytes_allocated() - before);
  return 1;
}

namespace {

constexpr int64_t kMostBlockBytes = int64_t{256} << 20;

using NamedTypes = std::vector<std::pair<std::string, std::shared_ptr<::arrow::DataType>>>;

std::optional<std::vector<std::string>> texts(lua_State* L, const lua::Options& options,
                                              const char* name, std::string_view function) {
  options.push(name);
  std::optional<std::vector<std::string>> out;
  if (!lua_isnil(L, -1)) out = check_texts(L, lua_gettop(L), cat(function, ": ", name));
  lua_pop(L, 1);
  return out;
}

// {column = 'int64'}, sorted by name.
NamedTypes column_types(lua_State* L, const lua::Options& options, std::string_view function) {
  NamedTypes out;
  options.push("column_types");
  const int table = lua_gettop(L);
  if (!lua_isnil(L, table) && lua_type(L, table) != LUA_TTABLE) {
    throw Error(Code::kArgument, cat(function, ": column_types: expected {column = 'type'}"));
  }
  if (lua_istable(L, table)) {
    for (lua_pushnil(L); lua_next(L, table) != 0; lua_pop(L, 1)) {
      if (lua_type(L, -2) != LUA_TSTRING || lua_type(L, -1) != LUA_TSTRING) {
        throw Error(Code::kArgument,
                    cat(function, ": column_types: expected {column = 'type'}, both strings"));
      }
      const std::string name = lua_tostring(L, -2);
      out.emplace_back(name,
                       type_from_name(lua_tostring(L, -1), cat(function, ": column_types.", name)));
    }
  }
  lua_pop(L, 1);
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  return out;
}

int64_t block_bytes(const lua::Options& options, std::string_view function, int64_t fallback) {
  const int64_t out = options.integer("block_bytes", fallback);
  if (out < 1 || out > kMostBlockBytes) {
    throw Error(Code::kArgument, cat(function, ": block_bytes has to lie between 1 and ",
                                     kMostBlockBytes, ", not ", out));
  }
  return out;
}

// Reads an option of one byte; `fallback` if it is absent.
char letter(const lua::Options& options, const char* name, char fallback) {
  const std::string text = options.text(name, std::string_view(&fallback, 1));
  if (text.size() == 1 && text[0] != '\n' && text[0] != '\r') return text[0];
  throw Error(Code::kArgument, cat("open_csv: ", std::string_view(name),
                                   " has to be one character, not '", text, "'"));
}

bool is_false(lua_State* L, const lua::Options& options, const char* name) {
  options.push(name);
  const bool out = lua_isboolean(L, -1) && lua_toboolean(L, -1) == 0;
  lua_pop(L, 1);
  return out;
}

CsvOptions csv_options(lua_State* L, const lua::Options& given) {
  CsvOptions out;
  out.parse.delimiter = letter(given, "delimiter", ',');
  out.parse.quoting = !is_false(L, given, "quote");
  if (out.parse.quoting) out.parse.quote_char = letter(given, "quote", '"');
  given.push("escape");
  out.parse.escaping = !lua_isnil(L, -1);
  lua_pop(L, 1);
  if (out.parse.escaping) out.parse.escape_char = letter(given, "escape", '\\');
  out.parse.newlines_in_values = given.boolean("newlines_in_values", true);
  out.convert.strings_can_be_null = given.boolean("strings_can_be_null", false);
  if (auto nulls = texts(L, given, "null_values", "open_csv")) out.convert.null_values = *nulls;
  for (auto& [name, type] : column_types(L, given, "open_csv")) {
    out.convert.column_types.emplace(name, std::move(type));
  }
  out.header = given.boolean("header", true);
  out.column_names = texts(L, given, "column_names", "open_csv");
  out.columns = texts(L, given, "columns", "open_csv");
  out.skip_rows = given.integer("skip_rows", 0);
  out.block_bytes = block_bytes(given, "open_csv", out.block_bytes);
  return out;
}

int open_csv_file(lua_State* L) {
  const std::string path = check_path(L, 1, "open_csv");
  const lua::Options given(
      L, 2, "open_csv",
      {"delimiter", "quote", "escape", "newlines_in_values", "null_values", "strings_can_be_null",
       "column_types", "header", "column_names", "columns", "skip_rows", "block_bytes"});
  lua::push<TableCursor>(L, open_csv(path, csv_options(L, given)));
  return 1;
}

int open_json_file(lua_State* L) {
  const std::string path = check_path(L, 1, "open_json");
  const lua::Options given(L, 2, "open_json", {"column_types", "block_bytes"});
  JsonOptions options;
  options.column_types = column_types(L, given, "open_json");
  options.block_bytes = block_bytes(given, "open_json", options.block_bytes);
  lua::push<TableCursor>(L, open_json(path, options));
  return 1;
}

int open_ipc_file(lua_State* L) {
  lua::push<TableCursor>(L, open_ipc(check_path(L, 1, "open_ipc")));
  return 1;
}

OtherFeatures other_features(const std::string& name) {
  if (name == "infer") return OtherFeatures::kInfer;
  if (name == "refuse") return OtherFeatures::kRefuse;
  if (name == "skip") return OtherFeatures::kSkip;
  throw Error(Code::kArgument,
              cat("open_tfrecords: others is 'infer', 'refuse' or 'skip', not '", name, "'"));
}

int open_tfrecords_file(lua_State* L) {
  const std::string path = check_path(L, 1, "open_tfrecords");
  const lua::Options given(L, 2, "open_tfrecords",
                           {"column_types", "others", "first_record", "block_bytes", "max_rows"});
  ExampleOptions options;
  options.column_types = column_types(L, given, "open_tfrecords");
  options.others = other_features(given.text("others", "infer"));
  options.first_record = given.integer("first_record", 0);
  options.block_bytes = block_bytes(given, "open_tfrecords", options.block_bytes);
  options.max_rows = given.integer("max_rows", options.max_rows);
  lua::push<TableCursor>(L, open_examples(path, options));
  return 1;
}

int count_tfrecords(lua_State* L) {
  lua_pushnumber(L, static_cast<double>(count_records(check_path(L, 1, "count_tfrecords"))));
  return 1;
}

int open_text_file(lua_State* L) {
  lua::push<TextInput>(L, std::make_unique<TextInput>(check_path(L, 1, "open_text")));
  return 1;
}

int skip_text(lua_State* L) {
  const auto& text = lua::check<TextInput>(L, 1);
  const int64_t count = check_integer(L, 2, "skip: the number of bytes");
  if (count < 0) throw Error(Code::kArgument, cat("skip: ", count, " bytes"));
  lua_pushnumber(L, static_cast<double>(text->skip(count)));
  return 1;
}

int read_text(lua_State* L) {
  const auto& text = lua::check<TextInput>(L, 1);
  const int64_t wanted = check_integer(L, 2, "read: the number of bytes");
  if (wanted < 1 || wanted > kMostBlockBytes) {
    throw Error(Code::kArgument, cat("read: the number of bytes has to lie between 1 and ",
                                     kMostBlockBytes, ", not ", wanted));
  }
  const auto bytes = text->read(wanted);
  if (bytes->size() == 0) return 0;
  lua_pushlstring(L, reinterpret_cast<const char*>(bytes->data()),
                  static_cast<size_t>(bytes->size()));
  return 1;
}

}  // namespace

void add_readers(lua_State* L) {
  static constexpr std::array kTableCursorMethods = {lua::method<&cursor_schema>("schema"),
                                                     lua::method<&cursor_next>("next")};
  lua::register_class<TableCursor>(L, kTableCursorMethods);
  lua::add_function(L, lua::method<&open_csv_file>("open_csv"));
  lua::add_function(L, lua::method<&open_json_file>("open_json"));
  lua::add_function(L, lua::method<&open_ipc_file>("open_ipc"));
  lua::add_function(L, lua::method<&open_tfrecords_file>("open_tfrecords"));
  lua::add_function(L, lua::method<&count_tfrecords>("count_tfrecords"));
  static constexpr std::array kTextMethods = {lua::method<&read_text>("read"),
                                              lua::method<&skip_text>("skip")};
  lua::register_class<TextInput>(L, kTextMethods);
  lua::add_function(L, lua::method<&open_text_file>("open_text"));
}

}  // namespace rtrain::arrow
