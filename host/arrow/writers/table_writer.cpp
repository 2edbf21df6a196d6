#include "host/arrow/writers/table_writer.h"

#include <arrow/compute/cast.h>

#include <utility>

#include "host/arrow/types/memory.h"
#include "host/arrow/types/plain_columns.h"
#include "host/arrow/types/type_name.h"
#include "host/base/error.h"
#include "host/base/text/text.h"

namespace rtrain::arrow {

TableWriter::TableWriter(const std::string& path, NewFile::Durability durability)
    : task_{"write", path}, output_(open_output(path, durability)), sink_(output_) {}

void TableWriter::check_open() const {
  if (output_ == nullptr) {
    throw Error(Code::kArgument, failure_text(task_, "it was closed, or an error ended it"));
  }
}

std::shared_ptr<::arrow::RecordBatch> TableWriter::conform(
    const ::arrow::RecordBatch& batch) const {
  if (batch.schema()->field_names() != schema_->field_names()) {
    throw Error(Code::kArgument, failure_text(task_, cat("a batch has the columns ",
                                                         join(batch.schema()->field_names(), ", "),
                                                         ", the first one had ",
                                                         join(schema_->field_names(), ", "))));
  }
  ::arrow::ArrayVector arrays = batch.columns();
  for (size_t i = 0; i < arrays.size(); ++i) {
    const ::arrow::Field& field = *schema_->field(static_cast<int>(i));
    if (arrays[i]->type()->Equals(*field.type())) continue;
    auto converted = ::arrow::compute::Cast(*arrays[i], field.type(),
                                            ::arrow::compute::CastOptions::Safe(), exec_context());
    if (!converted.ok()) {
      throw Error(
          Code::kArgument,
          failure_text(task_.with(cat("column '", field.name(), "'")),
                       cat("its values are of type ", type_name(*arrays[i]->type()),
                           ", in the first batch they were of type ", type_name(*field.type()))));
    }
    arrays[i] = *converted;
  }
  return ::arrow::RecordBatch::Make(schema_, batch.num_rows(), arrays);
}

void TableWriter::write(const api::ArrowBatch& batch) {
  check_open();
  in_file(task_, [&] {
    std::shared_ptr<::arrow::RecordBatch> rows = from_plain(batch, task_);
    if (schema_ == nullptr) {
      start(rows->schema());
      schema_ = rows->schema();
    }
    rows = conform(*rows);
    try {
      write_batch(*rows);
    } catch (...) {
      output_ = nullptr;  // a part of the batch may be written: the file cannot be continued
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
  const std::shared_ptr<Output> output = std::exchange(output_, nullptr);
  in_file(task_, [&] {
    finish();
    check(output->commit(), task_);
  });
}

}  // namespace rtrain::arrow
