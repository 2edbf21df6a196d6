#include "host/arrow/readers/ipc_reader.h"

#include <arrow/io/interfaces.h>
#include <arrow/ipc/reader.h>
#include <arrow/record_batch.h>

#include <string_view>
#include <utility>

#include "host/arrow/readers/input.h"
#include "host/arrow/readers/ipc_options.h"
#include "host/arrow/types/plain_columns.h"
#include "host/arrow/types/status.h"
#include "host/base/text/text.h"

namespace rtrain::arrow {
namespace {

using FileReader = ::arrow::ipc::RecordBatchFileReader;
using StreamReader = ::arrow::ipc::RecordBatchStreamReader;

class IpcCursor final : public TableCursor {
 public:
  explicit IpcCursor(std::string path) : task_{"read", std::move(path), "", "it is damaged: "} {
    const auto file = open_input(task_.path);
    in_file(task_, [&] {
      constexpr std::string_view kMagic = "ARROW1";
      const auto start = take(file->ReadAt(0, kMagic.size()), task_);
      if (std::string_view(*start) == kMagic) {
        file_ = take(FileReader::Open(file, ipc_read_options()), task_);
      } else {
        stream_ = take(StreamReader::Open(file, ipc_read_options()), task_);
      }
    });
  }

  const ::arrow::Schema& schema() const override {
    return file_ != nullptr ? *file_->schema() : *stream_->schema();
  }

  std::shared_ptr<api::ArrowBatch> next() override {
    if (over_) return nullptr;
    over_ = true;  // reset at the end of a successful read
    const FileTask task = task_.with(cat("batch ", batch_));
    return in_file(task, [&]() -> std::shared_ptr<api::ArrowBatch> {
      const auto batch = read(task);
      if (batch == nullptr) return nullptr;
      check(batch->ValidateFull(), task);
      ++batch_;
      over_ = false;
      return to_plain(*batch, task);
    });
  }

 private:
  std::shared_ptr<::arrow::RecordBatch> read(const FileTask& task) {
    std::shared_ptr<::arrow::RecordBatch> batch;
    if (stream_ != nullptr) {
      check(stream_->ReadNext(&batch), task);
    } else if (batch_ < file_->num_record_batches()) {
      batch = take(file_->ReadRecordBatch(batch_), task);
    }
    return batch;
  }

  FileTask task_;
  std::shared_ptr<FileReader> file_;
  std::shared_ptr<StreamReader> stream_;
  int batch_ = 0;
  bool over_ = false;
};

}  // namespace

std::unique_ptr<TableCursor> open_ipc(const std::string& path) {
  return std::make_unique<IpcCursor>(path);
}

}  // namespace rtrain::arrow
