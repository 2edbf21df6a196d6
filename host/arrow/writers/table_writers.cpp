// host/arrow/writers/table_writers.cpp: writers of Parquet, CSV and Arrow files.
#include <arrow/csv/options.h>
#include <arrow/csv/writer.h>
#include <arrow/ipc/writer.h>
#include <arrow/util/byte_size.h>
#include <arrow/util/compression.h>
#include <parquet/arrow/writer.h>
#include <parquet/properties.h>

#include <string_view>
#include <vector>

#include "host/arrow/types/memory.h"
#include "host/arrow/types/type_name.h"
#include "host/arrow/writers/table_writer.h"
#include "host/base/error.h"
#include "host/base/text/text.h"

namespace rtrain::arrow {
namespace {

using ::arrow::Compression;

struct Choice {
  const char* name;
  int value;
};

// The value of the choice with that name. Throws with "did you mean" for an unknown name.
int choose(std::string_view what, const std::string& name, const std::vector<Choice>& choices) {
  std::vector<std::string> names;
  for (const Choice& choice : choices) {
    if (name == choice.name) return choice.value;
    names.emplace_back(choice.name);
  }
  throw Error(Code::kArgument, cat(what, ": unknown value '", name, "'", suggestion(name, names)));
}

class ParquetWriter final : public TableWriter {
 public:
  ParquetWriter(const std::string& path, const ParquetWriterOptions& options)
      : TableWriter(path, NewFile::Durability::kSynced), options_(options) {
    const auto codec = choose("parquet_writer: compression", options.compression,
                              {{"none", Compression::UNCOMPRESSED},
                               {"snappy", Compression::SNAPPY},
                               {"gzip", Compression::GZIP},
                               {"zstd", Compression::ZSTD},
                               {"lz4", Compression::LZ4},
                               {"brotli", Compression::BROTLI}});
    parquet::WriterProperties::Builder builder;
    builder.memory_pool(memory_pool());
    builder.compression(static_cast<Compression::type>(codec));
    if (options.compression_level) builder.compression_level(*options.compression_level);
    if (!options.use_dictionary) builder.disable_dictionary();
    builder.enable_page_checksum();
    builder.max_row_group_length(options.row_group_size);
    properties_ = builder.build();
  }

 private:
  void start(const std::shared_ptr<::arrow::Schema>& schema) override {
    const auto arrow_properties = parquet::ArrowWriterProperties::Builder().store_schema()->build();
    writer_ = take(parquet::arrow::FileWriter::Open(*schema, memory_pool(), sink(), properties_,
                                                    arrow_properties),
                   task());
  }

  void write_batch(const ::arrow::RecordBatch& batch) override {
    // Begins a new row group before the batch rather than within it; batches are small compared to
    // row groups.
    if (group_bytes_ >= options_.row_group_bytes) {
      check(writer_->NewBufferedRowGroup(), task());
      group_bytes_ = 0;
    }
    check(writer_->WriteRecordBatch(batch), task());
    group_bytes_ += take(::arrow::util::ReferencedBufferSize(batch), task());
  }

  void finish() override { check(writer_->Close(), task()); }

  ParquetWriterOptions options_;
  std::shared_ptr<parquet::WriterProperties> properties_;
  std::unique_ptr<parquet::arrow::FileWriter> writer_;
  int64_t group_bytes_ = 0;
};

class CsvWriter final : public TableWriter {
 public:
  CsvWriter(const std::string& path, const CsvWriterOptions& options)
      : TableWriter(path, NewFile::Durability::kSynced) {
    using ::arrow::csv::QuotingStyle;
    options_.delimiter = options.delimiter;
    options_.include_header = options.header;
    options_.null_string = options.null_text;
    options_.io_context = ::arrow::io::IOContext(memory_pool());
    const int style = choose("csv_writer: quoting", options.quoting,
                             {{"needed", static_cast<int>(QuotingStyle::Needed)},
                              {"all", static_cast<int>(QuotingStyle::AllValid)},
                              {"none", static_cast<int>(QuotingStyle::None)}});
    options_.quoting_style = static_cast<QuotingStyle>(style);
    check(options_.Validate(), task());
  }

 private:
  void start(const std::shared_ptr<::arrow::Schema>& schema) override {
    for (const auto& field : schema->fields()) {
      const bool nested =
          field->type()->num_fields() > 0 || field->type()->id() == ::arrow::Type::EXTENSION;
      if (!nested) continue;
      throw Error(Code::kArgument,
                  failure_text(task().with(cat("column '", field->name(), "'")),
                               cat("CSV has no place for ", type_name(*field->type()),
                                   ": leave the column out or write Parquet")));
    }
    writer_ = take(::arrow::csv::MakeCSVWriter(sink(), schema, options_), task());
  }

  void write_batch(const ::arrow::RecordBatch& batch) override {
    check(writer_->WriteRecordBatch(batch), task());
  }

  void finish() override { check(writer_->Close(), task()); }

  ::arrow::csv::WriteOptions options_ = ::arrow::csv::WriteOptions::Defaults();
  std::shared_ptr<::arrow::ipc::RecordBatchWriter> writer_;
};

class IpcWriter final : public TableWriter {
 public:
  IpcWriter(const std::string& path, const IpcWriterOptions& options)
      : TableWriter(path,
                    options.sync ? NewFile::Durability::kSynced : NewFile::Durability::kUnsynced),
        stream_(options.stream) {
    options_.memory_pool = memory_pool();
    options_.use_threads = false;
    const auto codec =
        static_cast<Compression::type>(choose("ipc_writer: compression", options.compression,
                                              {{"", Compression::UNCOMPRESSED},
                                               {"none", Compression::UNCOMPRESSED},
                                               {"lz4", Compression::LZ4_FRAME},
                                               {"zstd", Compression::ZSTD}}));
    if (codec != Compression::UNCOMPRESSED) {
      options_.codec = take(::arrow::util::Codec::Create(codec), task());
    }
  }

 private:
  void start(const std::shared_ptr<::arrow::Schema>& schema) override {
    writer_ = take(stream_ ? ::arrow::ipc::MakeStreamWriter(sink(), schema, options_)
                           : ::arrow::ipc::MakeFileWriter(sink(), schema, options_),
                   task());
  }

  void write_batch(const ::arrow::RecordBatch& batch) override {
    check(writer_->WriteRecordBatch(batch), task());
  }

  void finish() override { check(writer_->Close(), task()); }

  bool stream_;
  ::arrow::ipc::IpcWriteOptions options_ = ::arrow::ipc::IpcWriteOptions::Defaults();
  std::shared_ptr<::arrow::ipc::RecordBatchWriter> writer_;
};

}  // namespace

std::unique_ptr<TableWriter> make_parquet_writer(const std::string& path,
                                                 const ParquetWriterOptions& options) {
  return std::make_unique<ParquetWriter>(path, options);
}

std::unique_ptr<TableWriter> make_csv_writer(const std::string& path,
                                             const CsvWriterOptions& options) {
  return std::make_unique<CsvWriter>(path, options);
}

std::unique_ptr<TableWriter> make_ipc_writer(const std::string& path,
                                             const IpcWriterOptions& options) {
  return std::make_unique<IpcWriter>(path, options);
}

}  // namespace rtrain::arrow
