// host/arrow/readers/parquet_reader.h: a Parquet file and cursors over its row groups.
//
// Runs entirely in the caller's thread. A cursor holds one page of each column, the batch being
// made, and at most 16 MiB of the file, whatever the row group's size. A dictionary can expand a
// few rows to gigabytes: if a batch exceeds the memory budget, it is made again with fewer rows.
// Errors name the file, the row group and, if known, the column.
#pragma once

#include <arrow/record_batch.h>
#include <parquet/arrow/reader.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "host/arrow/readers/table_cursor.h"

namespace rtrain::arrow {

class ParquetCursor;

class ParquetReader : public std::enable_shared_from_this<ParquetReader> {
 public:
  // Throws Error(kNotFound) if the file does not exist, Error(kArgument) if it is not a well-formed
  // Parquet file.
  explicit ParquetReader(std::string path);

  const std::string& path() const { return path_; }
  const ::arrow::Schema& schema() const { return *schema_; }
  int64_t num_rows() const;
  int num_row_groups() const;
  // Both throw Error(kArgument) for a number out of range.
  int64_t row_group_rows(int64_t group) const;
  int64_t row_group_bytes(int64_t group) const;  // uncompressed

  // Reads the rows of a row group from its beginning, with `columns` in this order, or all. At most
  // max_rows in a batch; 0: a few MiB. Throws Error(kArgument) for an unknown column.
  std::unique_ptr<ParquetCursor> read(int64_t group,
                                      const std::optional<std::vector<std::string>>& columns,
                                      int64_t max_rows);

 private:
  friend class ParquetCursor;

  void check_metadata() const;
  int check_group(int64_t group) const;
  int64_t fitting_rows(int group) const;
  // Bytes of these columns of the row group in the file.
  int64_t stored_bytes(int group, const std::vector<int>& leaves) const;
  std::unique_ptr<parquet::arrow::FileReader> open(
      const std::vector<int>& leaves, int group, int64_t batch_rows,
      ::arrow::TimeUnit::type int96_unit = ::arrow::TimeUnit::NANO) const;
  bool has_int96(int field) const;

  std::string path_;
  std::shared_ptr<::arrow::io::RandomAccessFile> file_;
  std::shared_ptr<parquet::FileMetaData> metadata_;
  std::shared_ptr<::arrow::Schema> schema_;
  std::vector<std::vector<int>> leaves_;  // column indices of each field of the schema
};

class ParquetCursor final : public TableCursor {
 public:
  const ::arrow::Schema& schema() const override { return *schema_; }
  std::shared_ptr<api::ArrowBatch> next() override;

 private:
  friend class ParquetReader;
  ParquetCursor(std::shared_ptr<ParquetReader> reader, int group, std::vector<int> fields,
                int64_t batch_rows);

  void open();
  // Starts again at the first row that was not returned yet, with smaller batches.
  void open_again();
  std::shared_ptr<api::ArrowBatch> next_within_budget();
  std::shared_ptr<::arrow::RecordBatch> read_next();
  int64_t budget_bytes() const;
  // Finds the column that cannot be read and throws its error.
  void blame_column() const;
  void open_int96();
  // Reads the same rows of the INT96 columns again, in microseconds. Throws Error(kArgument) that
  // names a column with a time outside the range of nanoseconds.
  void check_int96();

  std::shared_ptr<ParquetReader> file_;
  int group_;
  std::vector<int> fields_;
  std::vector<int> leaves_;
  std::shared_ptr<::arrow::Schema> schema_;
  int64_t batch_rows_;
  int64_t rows_left_;
  std::unique_ptr<parquet::arrow::FileReader> reader_;
  std::unique_ptr<::arrow::RecordBatchReader> batches_;
  std::shared_ptr<::arrow::RecordBatch> rest_;  // rows of a batch that were not returned yet
  // Reads INT96 columns in microseconds; null if there are no such columns.
  std::unique_ptr<parquet::arrow::FileReader> int96_reader_;
  std::unique_ptr<::arrow::RecordBatchReader> int96_batches_;
};

}  // namespace rtrain::arrow
