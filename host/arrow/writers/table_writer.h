// host/arrow/writers/table_writer.h: writes batches to a file that appears under its name complete
// or not at all.
//
// The first batch determines the schema. Later batches must have the same columns, in the same
// order, with types that convert without loss. Without close() the file is removed.
#pragma once

#include <arrow/io/interfaces.h>
#include <arrow/record_batch.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "host/api/arrow_batch.h"
#include "host/arrow/objects/output.h"
#include "host/arrow/types/status.h"
#include "host/base/files/new_file.h"

namespace rtrain::arrow {

class TableWriter {
 public:
  virtual ~TableWriter() = default;

  // Throws Error(kArgument) for a batch that does not fit the first one, Error(kEnvironment) if the
  // file cannot be written.
  void write(const api::ArrowBatch& batch);

  // Completes the file. Throws Error(kArgument) if no batch was written.
  void close();

 protected:
  TableWriter(const std::string& path, NewFile::Durability durability);

  const FileTask& task() const { return task_; }
  const std::shared_ptr<::arrow::io::OutputStream>& sink() const { return sink_; }

 private:
  virtual void start(const std::shared_ptr<::arrow::Schema>& schema) = 0;
  virtual void write_batch(const ::arrow::RecordBatch& batch) = 0;
  virtual void finish() = 0;

  std::shared_ptr<::arrow::RecordBatch> conform(const ::arrow::RecordBatch& batch) const;
  void check_open() const;

  FileTask task_;
  std::shared_ptr<Output> output_;  // until it is complete or given up
  std::shared_ptr<::arrow::io::OutputStream> sink_;
  std::shared_ptr<::arrow::Schema> schema_;
};

struct ParquetWriterOptions {
  std::string compression = "snappy";  // also none, gzip, zstd, lz4, brotli
  std::optional<int> compression_level;
  int64_t row_group_size = int64_t{1} << 20;    // rows
  int64_t row_group_bytes = int64_t{64} << 20;  // bytes of batches in memory
  bool use_dictionary = true;
};

struct CsvWriterOptions {
  char delimiter = ',';
  bool header = true;
  std::string quoting = "needed";  // also all, none
  std::string null_text;
};

struct IpcWriterOptions {
  bool stream = false;      // leaves out the list of batches at the end
  std::string compression;  // "", lz4, zstd
  bool sync = true;         // false for a temporary file
};

// Each throws Error(kArgument) for an unknown option value, Error(kEnvironment) if the file cannot
// be created.
std::unique_ptr<TableWriter> make_parquet_writer(const std::string& path,
                                                 const ParquetWriterOptions& options);
std::unique_ptr<TableWriter> make_csv_writer(const std::string& path,
                                             const CsvWriterOptions& options);
std::unique_ptr<TableWriter> make_ipc_writer(const std::string& path,
                                             const IpcWriterOptions& options);

}  // namespace rtrain::arrow
