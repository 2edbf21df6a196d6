#include "host/cli/parquet_file.h"

#include <array>
#include <cmath>
#include <memory>
#include <vector>

#include "host/bind/modules.h"
#include "host/lua/arrow_batch.h"
#include "host/lua/convert.h"
#include "host/lua/guard.h"
#include "host/lua/require.h"
#include "host/lua/state.h"

namespace rtrain {
namespace {

using Type = TableColumn::Type;

constexpr int64_t kNullable = 2;  // ARROW_FLAG_NULLABLE

// The memory of a column, for as long as Arrow holds it.
struct ColumnData {
  std::string validity;
  std::string values;
  std::string bytes;  // of texts
  std::array<const void*, 3> buffers{};
};

template <class Number>
void add_number(std::string& out, Number number) {
  out.append(reinterpret_cast<const char*>(&number), sizeof number);
}

void set_bit(std::string& bits, size_t index) {
  bits[index / 8] = static_cast<char>(bits[index / 8] | 1 << (index % 8));
}

const char* format_of(Type type) {
  switch (type) {
    case Type::kInteger:
      return "l";
    case Type::kFloat:
      return "g";
    case Type::kBoolean:
      return "b";
    case Type::kText:
      return "U";
  }
  return "";
}

void add_value(ColumnData& data, Type type, const Value& cell, size_t row) {
  switch (type) {
    case Type::kInteger:
      return add_number(data.values, cell.int_or(0));
    case Type::kFloat:
      return add_number(data.values, cell.is_nil() ? 0.0 : cell.as_float());
    case Type::kBoolean:
      if (cell == Value(true)) set_bit(data.values, row);
      return;
    case Type::kText:
      if (!cell.is_nil()) data.bytes += cell.as_string();
      add_number(data.values, static_cast<int64_t>(data.bytes.size()));
      return;
  }
}

void release_array(ArrowArray* array) {
  delete static_cast<ColumnData*>(array->private_data);
  array->release = nullptr;
}

void release_schema(ArrowSchema* schema) {
  delete static_cast<std::string*>(schema->private_data);
  schema->release = nullptr;
}

std::shared_ptr<ArrowColumn> arrow_column(const TableColumn& column) {
  const size_t bits = (column.cells.size() + 7) / 8;
  auto data = std::make_unique<ColumnData>();
  data->validity.assign(bits, '\0');
  if (column.type == Type::kBoolean) data->values.assign(bits, '\0');
  if (column.type == Type::kText) add_number(data->values, int64_t{0});
  int64_t num_nulls = 0;
  for (size_t row = 0; row < column.cells.size(); ++row) {
    const Value& cell = column.cells[row];
    if (cell.is_nil()) {
      ++num_nulls;
    } else {
      set_bit(data->validity, row);
    }
    add_value(*data, column.type, cell, row);
  }
  data->buffers = {data->validity.data(), data->values.data(), data->bytes.data()};
  auto out = std::make_shared<ArrowColumn>();
  auto name = std::make_unique<std::string>(column.name);
  out->name = column.name;
  out->schema.format = format_of(column.type);
  out->schema.name = name->c_str();
  out->schema.flags = kNullable;
  out->schema.release = &release_schema;
  out->schema.private_data = name.release();
  out->array.length = static_cast<int64_t>(column.cells.size());
  out->array.null_count = num_nulls;
  out->array.n_buffers = column.type == Type::kText ? 3 : 2;
  out->array.buffers = data->buffers.data();
  out->array.release = &release_array;
  out->array.private_data = data.release();
  return out;
}

std::shared_ptr<ArrowBatch> arrow_batch(const RunTable& table) {
  auto batch = std::make_shared<ArrowBatch>();
  batch->num_rows = static_cast<int64_t>(table.num_rows);
  for (const TableColumn& column : table.columns) batch->columns.push_back(arrow_column(column));
  return batch;
}

}  // namespace

void write_parquet(const RunTable& table, const std::string& path) {
  State state;
  add_host_modules(state);
  push_module_function(state, "base._arrow", "parquet_writer");
  push_value(state, path);
  protected_call(state, 1, 1);
  lua_getfield(state, -1, "write");
  lua_pushvalue(state, -2);
  register_arrow_batch(state);
  push<ArrowBatch>(state, arrow_batch(table));
  protected_call(state, 2, 0);
  lua_getfield(state, -1, "close");
  lua_pushvalue(state, -2);
  protected_call(state, 1, 0);
  lua_pop(state, 1);
}

}  // namespace rtrain
