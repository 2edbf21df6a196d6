// host/arrow/readers/parquet_reader.h: a Parquet file and cursors over its row groups.
//
// Everything happens in the caller's thread. A cursor holds one page of each column, the batch
// being made, and at most 16 MiB of the file, whatever the row group's size. A dictionary may make
// gigabytes of a few rows: a batch that turns out to be that large is made again with fewer rows.
// Errors name the file, the row group and, where it is known, the column.
#pragma once

#include <arrow/record_batch.h>
#include <parquet/arrow/reader.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "host/arrow/readers/table_cursor.h"

namespace rtrain {

class ParquetCursor;

class ParquetReader : public std::enable_shared_from_this<ParquetReader> {
 public:
  // Throws Error(kNotFound) without such a file, Error(kArgument) for anything but a well-formed
  // Parquet file.
  explicit ParquetReader(std::string path);

  const std::string& path() const { return path_; }
  const arrow::Schema& schema() const { return *schema_; }
  int64_t num_rows() const;
  int num_row_groups() const;
  // Both throw Error(kArgument) for a number out of range.
  int64_t row_group_rows(int64_t group) const;
  int64_t row_group_bytes(int64_t group) const;  // uncompressed

  // The rows of a row group from the beginning; columns in this order, all without a list. At most
  // max_rows a batch; 0: as many as make a few MiB. Throws Error(kArgument) for an unknown column.
  std::unique_ptr<ParquetCursor> read(int64_t group,
                                      const std::optional<std::vector<std::string>>& columns,
                                      int64_t max_rows);

 private:
  friend class ParquetCursor;

  void check_metadata() const;
  int check_group(int64_t group) const;
  int64_t fitting_rows(int group) const;
  // Bytes that the columns of the row group take in the file.
  int64_t stored_bytes(int group, const std::vector<int>& leaves) const;
  std::unique_ptr<parquet::arrow::FileReader> open(
      const std::vector<int>& leaves, int group, int64_t batch_rows,
      arrow::TimeUnit::type int96_unit = arrow::TimeUnit::NANO) const;
  bool has_int96(int field) const;

  std::string path_;
  std::shared_ptr<arrow::io::RandomAccessFile> file_;
  std::shared_ptr<parquet::FileMetaData> metadata_;
  std::shared_ptr<arrow::Schema> schema_;
  std::vector<std::vector<int>> leaves_;  // of each field of the schema
};

class ParquetCursor final : public TableCursor {
 public:
  const arrow::Schema& schema() const override { return *schema_; }
  std::shared_ptr<ArrowBatch> next() override;

 private:
  friend class ParquetReader;
  ParquetCursor(std::shared_ptr<ParquetReader> reader, int group, std::vector<int> fields,
                int64_t batch_rows);

  void open();
  // Once more from the first row that was not given on, with smaller batches.
  void open_again();
  std::shared_ptr<ArrowBatch> next_within_budget();
  std::shared_ptr<arrow::RecordBatch> read_next();
  int64_t budget_bytes() const;
  // The column that cannot be read; throws its error.
  void blame_column() const;
  void open_int96();
  // Reads the same rows of INT96 columns once more. Throws Error(kArgument) that names the column
  // with a time that nanoseconds do not hold.
  void check_int96();

  std::shared_ptr<ParquetReader> file_;
  int group_;
  std::vector<int> fields_;
  std::vector<int> leaves_;
  std::shared_ptr<arrow::Schema> schema_;
  int64_t batch_rows_;
  int64_t rows_left_;
  std::unique_ptr<parquet::arrow::FileReader> reader_;
  std::unique_ptr<arrow::RecordBatchReader> batches_;
  std::shared_ptr<arrow::RecordBatch> rest_;  // of a batch whose first rows were given before
  // INT96 columns in microseconds; null without such columns.
  std::unique_ptr<parquet::arrow::FileReader> int96_reader_;
  std::unique_ptr<arrow::RecordBatchReader> int96_batches_;
};

}  // namespace rtrain
