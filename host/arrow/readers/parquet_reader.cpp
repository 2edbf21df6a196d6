#include "host/arrow/readers/parquet_reader.h"

#include <arrow/array.h>
#include <parquet/arrow/schema.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>
#include <parquet/properties.h>

#include <algorithm>
#include <limits>
#include <unordered_set>

#include "host/arrow/readers/input.h"
#include "host/arrow/readers/stored_schema.h"
#include "host/arrow/types/memory.h"
#include "host/arrow/types/plain_columns.h"
#include "host/arrow/types/status.h"
#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/machine/machine.h"

namespace rtrain::arrow {
namespace {

constexpr int64_t kKiB = 1024;
constexpr int64_t kMiB = 1024 * kKiB;
constexpr int64_t kBatchBytes = 8 * kMiB;  // if the caller gives no number of rows
constexpr int64_t kMaxBatchRows = 64 * kKiB;
// Memory limit for making a batch; above it the batch is made again with fewer rows.
constexpr int64_t kBatchBudget = 512 * kMiB;
constexpr int64_t kFewerRows = 16;
// Columns of at most this size in the file are read whole, which saves a copy; larger ones through
// buffers of this total size.
constexpr int64_t kReadBufferBytes = 16 * kMiB;
constexpr int32_t kThriftStringBytes = 64 * kMiB;
constexpr int32_t kThriftItems = 1000 * 1000;

FileTask reading(const std::string& path) { return {"read", path, "", "it is damaged: "}; }

std::string group_text(int64_t group) { return cat("row group ", group); }

parquet::ReaderProperties file_properties(int64_t bytes, size_t num_columns) {
  parquet::ReaderProperties out(memory_pool());
  if (bytes > kReadBufferBytes) {
    const int64_t share = kReadBufferBytes / static_cast<int64_t>(std::max<size_t>(num_columns, 1));
    out.enable_buffered_stream();
    out.set_buffer_size(std::clamp(share, 16 * kKiB, kMiB));
  }
  out.set_page_checksum_verification(true);  // for pages with a checksum
  out.set_thrift_string_size_limit(kThriftStringBytes);
  out.set_thrift_container_size_limit(kThriftItems);
  return out;
}

std::unique_ptr<parquet::arrow::FileReader> arrow_reader(
    std::unique_ptr<parquet::ParquetFileReader> file, int64_t batch_rows, const FileTask& task,
    ::arrow::TimeUnit::type int96_unit = ::arrow::TimeUnit::NANO) {
  parquet::ArrowReaderProperties properties(/*use_threads=*/false);
  properties.set_pre_buffer(false);
  properties.set_batch_size(batch_rows);
  properties.set_coerce_int96_timestamp_unit(int96_unit);
  return take(parquet::arrow::FileReader::Make(memory_pool(), std::move(file), properties), task);
}

void collect_leaves(const parquet::arrow::SchemaField& field, std::vector<int>& out) {
  if (field.is_leaf()) out.push_back(field.column_index);
  for (const auto& child : field.children) collect_leaves(child, out);
}

// Whether all times in microseconds, in the array or in nested arrays, fit into nanoseconds.
bool fits_nanoseconds(const ::arrow::Array& array) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max() / 1000;
  if (array.type_id() == ::arrow::Type::TIMESTAMP) {
    const auto& times = static_cast<const ::arrow::TimestampArray&>(array);
    for (int64_t i = 0; i < times.length(); ++i) {
      if (times.IsValid(i) && (times.Value(i) > kMost || times.Value(i) < -kMost)) return false;
    }
  }
  for (const auto& child : array.data()->child_data) {
    if (!fits_nanoseconds(*::arrow::MakeArray(child))) return false;
  }
  return true;
}

}  // namespace

ParquetReader::ParquetReader(std::string path) : path_(std::move(path)) {
  const FileTask task = reading(path_);
  file_ = open_input(path_);
  in_file(task, [&] {
    auto file = parquet::ParquetFileReader::Open(file_, file_properties(0, 1));
    metadata_ = file->metadata();
    check_metadata();
    read_dictionaries_as_values(*metadata_);
    const auto reader = arrow_reader(std::move(file), 1, task);
    check(reader->GetSchema(&schema_), task);
    for (const auto& field : reader->manifest().schema_fields) {
      collect_leaves(field, leaves_.emplace_back());
    }
  });
  std::unordered_set<std::string> names;
  for (const auto& field : schema_->fields()) {
    if (names.insert(field->name()).second) continue;
    throw Error(Code::kArgument,
                failure_text(task, cat("two of its columns are called '", field->name(), "'")));
  }
}

void ParquetReader::check_metadata() const {
  const FileTask task = reading(path_);
  int64_t rows = 0;
  for (int i = 0; i < metadata_->num_row_groups(); ++i) {
    const int64_t count = metadata_->RowGroup(i)->num_rows();
    if (count < 0 || __builtin_add_overflow(rows, count, &rows)) {
      throw Error(Code::kArgument,
                  failure_text(task.with(group_text(i)),
                               cat("it is damaged: it promises ", count, " rows")));
    }
  }
  if (rows != metadata_->num_rows()) {
    throw Error(Code::kArgument,
                failure_text(task, cat("it is damaged: it promises ", metadata_->num_rows(),
                                       " rows, its row groups ", rows)));
  }
}

int64_t ParquetReader::stored_bytes(int group, const std::vector<int>& leaves) const {
  const auto row_group = metadata_->RowGroup(group);
  int64_t out = 0;
  for (const int leaf : leaves) {
    const int64_t size = row_group->ColumnChunk(leaf)->total_compressed_size();
    if (size < 0 || __builtin_add_overflow(out, size, &out)) return kReadBufferBytes + 1;
  }
  return out;
}

std::unique_ptr<parquet::arrow::FileReader> ParquetReader::open(
    const std::vector<int>& leaves, int group, int64_t batch_rows,
    ::arrow::TimeUnit::type int96_unit) const {
  auto file = parquet::ParquetFileReader::Open(
      file_, file_properties(stored_bytes(group, leaves), leaves.size()), metadata_);
  return arrow_reader(std::move(file), batch_rows, reading(path_), int96_unit);
}

bool ParquetReader::has_int96(int field) const {
  const auto& leaves = leaves_[static_cast<size_t>(field)];
  return std::any_of(leaves.begin(), leaves.end(), [&](int leaf) {
    return metadata_->schema()->Column(leaf)->physical_type() == parquet::Type::INT96;
  });
}

int64_t ParquetReader::num_rows() const { return metadata_->num_rows(); }
int ParquetReader::num_row_groups() const { return metadata_->num_row_groups(); }

int ParquetReader::check_group(int64_t group) const {
  if (group < 0 || group >= num_row_groups()) {
    throw Error(Code::kArgument, cat("'", path_, "' has ", num_row_groups(),
                                     " row groups, counted from 0: there is no ", group));
  }
  return static_cast<int>(group);
}

int64_t ParquetReader::row_group_rows(int64_t group) const {
  return metadata_->RowGroup(check_group(group))->num_rows();
}

int64_t ParquetReader::row_group_bytes(int64_t group) const {
  return metadata_->RowGroup(check_group(group))->total_byte_size();
}

int64_t ParquetReader::fitting_rows(int group) const {
  const int64_t rows = std::max<int64_t>(row_group_rows(group), 1);
  const int64_t bytes_per_row = std::max<int64_t>(row_group_bytes(group) / rows, 1);
  return std::clamp<int64_t>(kBatchBytes / bytes_per_row, 1, kMaxBatchRows);
}

std::unique_ptr<ParquetCursor> ParquetReader::read(
    int64_t group, const std::optional<std::vector<std::string>>& columns, int64_t max_rows) {
  const int number = check_group(group);
  std::vector<int> fields;
  if (!columns) {
    for (int i = 0; i < schema_->num_fields(); ++i) fields.push_back(i);
  } else {
    for (const std::string& name : *columns) {
      fields.push_back(schema_->GetFieldIndex(name));
      if (fields.back() >= 0) continue;
      throw Error(Code::kArgument, cat("'", path_, "' has no column '", name, "'",
                                       suggestion(name, schema_->field_names())));
    }
  }
  const int64_t rows = max_rows > 0 ? max_rows : fitting_rows(number);
  return std::unique_ptr<ParquetCursor>(
      new ParquetCursor(shared_from_this(), number, std::move(fields), rows));
}

ParquetCursor::ParquetCursor(std::shared_ptr<ParquetReader> reader, int group,
                             std::vector<int> fields, int64_t batch_rows)
    : file_(std::move(reader)),
      group_(group),
      fields_(std::move(fields)),
      batch_rows_(batch_rows),
      rows_left_(file_->row_group_rows(group)) {
  ::arrow::FieldVector chosen;
  for (const int field : fields_) {
    chosen.push_back(file_->schema().field(field));
    const auto& more = file_->leaves_[static_cast<size_t>(field)];
    leaves_.insert(leaves_.end(), more.begin(), more.end());
  }
  schema_ = ::arrow::schema(chosen);
  open();
}

void ParquetCursor::open() {
  const FileTask task = reading(file_->path()).with(group_text(group_));
  in_file(task, [&] {
    reader_ = file_->open(leaves_, group_, batch_rows_);
    batches_ = take(reader_->GetRecordBatchReader({group_}, leaves_), task);
    open_int96();
  });
}

void ParquetCursor::open_again() {
  batches_.reset();
  int96_batches_.reset();
  rest_.reset();
  open();
  int64_t given = file_->row_group_rows(group_) - rows_left_;
  while (given > 0) {
    const auto batch = read_next();
    check_int96();
    if (batch == nullptr || batch->num_rows() == 0) return;  // next() reports that rows are missing
    if (batch->num_rows() > given) rest_ = batch->Slice(given);
    given -= batch->num_rows();
  }
}

// Dictionaries and pages need their memory for any number of rows. So the budget includes the
// columns' size according to the file, within the limits of this machine.
int64_t ParquetCursor::budget_bytes() const {
  static const int64_t most = std::max(kBatchBudget, machine::memory_bytes() / 4);
  if (batch_rows_ == 1) return std::numeric_limits<int64_t>::max();
  const int64_t held = std::clamp<int64_t>(file_->row_group_bytes(group_), 0, most / 4);
  return std::clamp(4 * held, kBatchBudget, most);
}

void ParquetCursor::open_int96() {
  std::vector<int> leaves;
  for (const int field : fields_) {
    const auto& more = file_->leaves_[static_cast<size_t>(field)];
    if (file_->has_int96(field)) leaves.insert(leaves.end(), more.begin(), more.end());
  }
  if (leaves.empty()) return;
  const FileTask task = reading(file_->path()).with(group_text(group_));
  int96_reader_ = file_->open(leaves, group_, batch_rows_, ::arrow::TimeUnit::MICRO);
  int96_batches_ = take(int96_reader_->GetRecordBatchReader({group_}, leaves), task);
}

void ParquetCursor::check_int96() {
  const FileTask task = reading(file_->path()).with(group_text(group_));
  if (int96_batches_ == nullptr) return;
  std::shared_ptr<::arrow::RecordBatch> batch;
  in_file(task, [&] { check(int96_batches_->ReadNext(&batch), task); });
  for (int i = 0; batch != nullptr && i < batch->num_columns(); ++i) {
    if (fits_nanoseconds(*batch->column(i))) continue;
    throw Error(Code::kArgument,
                failure_text(task.with(cat(task.part, ", column '", batch->column_name(i), "'")),
                             "it has INT96 times outside of the years 1677 to 2262, which "
                             "nanoseconds do not hold: write it as timestamp[us], or leave it out "
                             "with columns"));
  }
}

std::shared_ptr<::arrow::RecordBatch> ParquetCursor::read_next() {
  if (rest_ != nullptr) return std::exchange(rest_, nullptr);
  const FileTask task = reading(file_->path()).with(group_text(group_));
  return in_file(task, [&] {
    std::shared_ptr<::arrow::RecordBatch> batch;
    check(batches_->ReadNext(&batch), task);
    return batch;
  });
}

void ParquetCursor::blame_column() const {
  for (const int field : fields_) {
    const FileTask task =
        reading(file_->path())
            .with(cat(group_text(group_), ", column '", file_->schema().field(field)->name(), "'"));
    in_file(task, [&] {
      const auto& leaves = file_->leaves_[static_cast<size_t>(field)];
      const auto reader = file_->open(leaves, group_, batch_rows_);
      const auto batches = take(reader->GetRecordBatchReader({group_}, leaves), task);
      std::shared_ptr<::arrow::RecordBatch> batch;
      do check(batches->ReadNext(&batch), task);
      while (batch != nullptr);
    });
  }
}

std::shared_ptr<api::ArrowBatch> ParquetCursor::next() {
  bool is_again = false;
  while (true) {
    MemoryBudget budget(budget_bytes());
    try {
      if (is_again) open_again();
      return next_within_budget();
    } catch (const Error&) {
      if (!budget.is_spent()) {
        if (batches_ != nullptr) blame_column();
        throw;
      }
    }
    batch_rows_ = std::max<int64_t>(batch_rows_ / kFewerRows, 1);
    is_again = true;
  }
}

std::shared_ptr<api::ArrowBatch> ParquetCursor::next_within_budget() {
  const FileTask task = reading(file_->path()).with(group_text(group_));
  if (batches_ == nullptr) return nullptr;
  const bool is_rest = rest_ != nullptr;  // INT96 values of the whole batch were already checked
  const auto batch = read_next();
  if (!is_rest) check_int96();
  if (batch == nullptr || batch->num_rows() == 0) {
    batches_.reset();
    reader_.reset();
    int96_batches_.reset();
    int96_reader_.reset();
    if (rows_left_ == 0 || fields_.empty()) return nullptr;
    throw Error(Code::kArgument,
                failure_text(task, cat("it is damaged: ", rows_left_, " rows are missing")));
  }
  auto out = in_file(task, [&] {
    // The batch has columns in the file's order; schema_ has the requested order.
    ::arrow::ArrayVector arrays;
    for (const auto& field : schema_->fields()) {
      arrays.push_back(batch->GetColumnByName(field->name()));
    }
    return to_plain(*::arrow::RecordBatch::Make(schema_, batch->num_rows(), arrays), task);
  });
  rows_left_ -= batch->num_rows();
  return out;
}

}  // namespace rtrain::arrow
