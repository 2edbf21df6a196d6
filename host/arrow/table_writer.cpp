#include "host/arrow/table_writer.h"

#include <arrow/buffer.h>
#include <arrow/compute/cast.h>
#include <arrow/util/io_util.h>

#include <cstring>
#include <utility>

#include "host/arrow/memory.h"
#include "host/arrow/plain_columns.h"
#include "host/arrow/type_name.h"
#include "host/base/error.h"
#include "host/base/text.h"

namespace rtrain {
namespace {

class Sink final : public arrow::io::OutputStream {
 public:
  explicit Sink(std::shared_ptr<NewFile> file) : file_(std::move(file)) {}

  arrow::Status Close() override {
    closed_ = true;
    return arrow::Status::OK();
  }
  bool closed() const override { return closed_; }
  arrow::Result<int64_t> Tell() const override { return position_; }

  arrow::Status Write(const void* data, int64_t size) override {
    file_->write(data, static_cast<size_t>(size));
    position_ += size;
    if (file_->error() == 0) return arrow::Status::OK();
    return arrow::internal::IOErrorFromErrno(file_->error(), std::strerror(file_->error()));
  }

 private:
  std::shared_ptr<NewFile> file_;
  int64_t position_ = 0;
  bool closed_ = false;
};

}  // namespace

TableWriter::TableWriter(const std::string& path, NewFile::Durability durability)
    : task_{"write", path},
      durability_(durability),
      file_(std::make_shared<NewFile>(path)),
      sink_(std::make_shared<Sink>(file_)) {}

void TableWriter::check_open() const {
  if (file_ == nullptr) {
    throw Error(Code::kArgument, failure_text(task_, "it was closed, or an error ended it"));
  }
}

std::shared_ptr<arrow::RecordBatch> TableWriter::conform(const arrow::RecordBatch& batch) const {
  if (batch.schema()->field_names() != schema_->field_names()) {
    throw Error(Code::kArgument, failure_text(task_, cat("a batch has the columns ",
                                                         join(batch.schema()->field_names(), ", "),
                                                         ", the first one had ",
                                                         join(schema_->field_names(), ", "))));
  }
  arrow::ArrayVector arrays = batch.columns();
  for (size_t i = 0; i < arrays.size(); ++i) {
    const arrow::Field& field = *schema_->field(static_cast<int>(i));
    if (arrays[i]->type()->Equals(*field.type())) continue;
    auto converted = arrow::compute::Cast(*arrays[i], field.type(),
                                          arrow::compute::CastOptions::Safe(), exec_context());
    if (!converted.ok()) {
      throw Error(
          Code::kArgument,
          failure_text(task_.with(cat("column '", field.name(), "'")),
                       cat("its values are of type ", type_name(*arrays[i]->type()),
                           ", in the first batch they were of type ", type_name(*field.type()))));
    }
    arrays[i] = *converted;
  }
  return arrow::RecordBatch::Make(schema_, batch.num_rows(), arrays);
}

void TableWriter::write(const ArrowBatch& batch) {
  check_open();
  in_file(task_, [&] {
    std::shared_ptr<arrow::RecordBatch> rows = from_plain(batch, task_);
    if (schema_ == nullptr) {
      start(rows->schema());
      schema_ = rows->schema();
    }
    rows = conform(*rows);
    try {
      write_batch(*rows);
    } catch (...) {
      file_ = nullptr;  // half a batch: the file cannot be continued
      throw;
    }
  });
}

void TableWriter::close() {
  check_open();
  if (schema_ == nullptr) {
    throw Error(Code::kArgument,
                failure_text(task_, "no batch was written, so that its columns are not known"));
  }
  const std::shared_ptr<NewFile> file = std::exchange(file_, nullptr);
  in_file(task_, [&] {
    finish();
    file->commit(durability_);
  });
}

}  // namespace rtrain
