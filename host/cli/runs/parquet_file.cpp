#include "host/cli/runs/parquet_file.h"

#include <array>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "host/bind/modules.h"
#include "host/lua/convert.h"
#include "host/lua/guard.h"
#include "host/lua/libraries/arrow_batch.h"
#include "host/lua/require.h"
#include "host/lua/state.h"

namespace rtrain::cli {
namespace {

using Type = store::TableColumn::Type;

constexpr int64_t kNullable = 2;  // ARROW_FLAG_NULLABLE

// The cells of a column. Their memory lives as long as Arrow uses it.
struct ColumnData {
  std::string validity;
  std::string values;
  std::string bytes;  // of strings
  int64_t num_nulls = 0;
  std::array<const void*, 3> buffers{};
};

template <class Number>
void add_number(std::string& out, Number number) {
  out.append(reinterpret_cast<const char*>(&number), sizeof number);
}

// Appends the bit of a row. Rows must come in order.
void add_bit(std::string& bits, size_t row, bool bit) {
  if (row % 8 == 0) bits += '\0';
  bits.back() = static_cast<char>(bits.back() | int{bit} << (row % 8));
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
      return add_bit(data.values, row, cell == Value(true));
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

void add_cell(ColumnData& data, Type type, const Value& cell, size_t row) {
  if (cell.is_nil()) ++data.num_nulls;
  add_bit(data.validity, row, !cell.is_nil());
  add_value(data, type, cell, row);
}

std::shared_ptr<api::ArrowColumn> arrow_column(const store::TableColumn& column,
                                               std::unique_ptr<ColumnData> data, size_t num_rows) {
  data->buffers = {data->validity.data(), data->values.data(), data->bytes.data()};
  auto out = std::make_shared<api::ArrowColumn>();
  auto name = std::make_unique<std::string>(column.name);
  out->name = column.name;
  out->schema.format = format_of(column.type);
  out->schema.name = name->c_str();
  out->schema.flags = kNullable;
  out->schema.release = &release_schema;
  out->schema.private_data = name.release();
  out->array.length = static_cast<int64_t>(num_rows);
  out->array.null_count = data->num_nulls;
  out->array.n_buffers = column.type == Type::kText ? 3 : 2;
  out->array.buffers = data->buffers.data();
  out->array.release = &release_array;
  out->array.private_data = data.release();
  return out;
}

// Rows that are written as one batch.
class BatchBuilder {
 public:
  explicit BatchBuilder(const std::vector<store::TableColumn>& columns) : columns_(columns) {
    begin();
  }

  void add(const store::TableRow& row) {
    for (size_t i = 0; i < columns_.size(); ++i) {
      add_cell(*data_[i], columns_[i].type, row[i], num_rows_);
      if (row[i].is_string()) num_bytes_ += row[i].as_string().size();
    }
    num_bytes_ += columns_.size() * sizeof(int64_t);
    ++num_rows_;
  }

  size_t num_bytes() const { return num_bytes_; }

  // Returns the rows so far as a batch and starts the next one.
  std::shared_ptr<api::ArrowBatch> finish() {
    auto batch = std::make_shared<api::ArrowBatch>();
    batch->num_rows = static_cast<int64_t>(num_rows_);
    for (size_t i = 0; i < columns_.size(); ++i) {
      batch->columns.push_back(arrow_column(columns_[i], std::move(data_[i]), num_rows_));
    }
    begin();
    return batch;
  }

 private:
  void begin() {
    data_.clear();
    for (const store::TableColumn& column : columns_) {
      data_.push_back(std::make_unique<ColumnData>());
      if (column.type == Type::kText) add_number(data_.back()->values, int64_t{0});
    }
    num_rows_ = num_bytes_ = 0;
  }

  const std::vector<store::TableColumn>& columns_;
  std::vector<std::unique_ptr<ColumnData>> data_;
  size_t num_rows_ = 0;
  size_t num_bytes_ = 0;
};

// Uses the writer of base._arrow.
class ParquetWriter {
 public:
  explicit ParquetWriter(const std::string& path) {
    bind::add_host_modules(state_);
    lua::push_module_function(state_, "base._arrow", "parquet_writer");
    lua::push_value(state_, path);
    // The size of a row group, which is held in memory until it is complete.
    constexpr int64_t kGroupBytes = int64_t{8} << 20;
    lua::push_value(state_, Map{{"row_group_bytes", kGroupBytes}});
    lua::protected_call(state_, 2, 1);
    lua::register_arrow_batch(state_);
  }

  void write(std::shared_ptr<api::ArrowBatch> batch) {
    lua_getfield(state_, -1, "write");
    lua_pushvalue(state_, -2);
    lua::push<api::ArrowBatch>(state_, std::move(batch));
    lua::protected_call(state_, 2, 0);
    // Lua holds the batch's memory until garbage collection.
    lua_gc(state_, LUA_GCCOLLECT, 0);
  }

  void close() {
    lua_getfield(state_, -1, "close");
    lua_pushvalue(state_, -2);
    lua::protected_call(state_, 1, 0);
  }

 private:
  lua::State state_;  // the writer is on top of its stack
};

}  // namespace

void write_parquet(const store::RunTable& table, const std::string& path) {
  constexpr size_t kBatchBytes = size_t{1} << 20;
  ParquetWriter writer(path);
  BatchBuilder rows(table.columns);
  table.each_row([&](const store::TableRow& row) {
    rows.add(row);
    if (rows.num_bytes() >= kBatchBytes) writer.write(rows.finish());
  });
  writer.write(rows.finish());  // also an empty batch, which defines the columns
  writer.close();
}

}  // namespace rtrain::cli
