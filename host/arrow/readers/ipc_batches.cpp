#include "host/arrow/readers/ipc_batches.h"

#include <arrow/ipc/reader.h>
#include <arrow/record_batch.h>

#include <algorithm>
#include <utility>

#include "host/arrow/readers/input.h"
#include "host/arrow/readers/ipc_options.h"
#include "host/arrow/types/memory.h"
#include "host/arrow/types/plain_columns.h"
#include "host/base/error.h"
#include "host/base/text/text.h"

namespace rtrain::arrow {
namespace {

using FileReader = ::arrow::ipc::RecordBatchFileReader;
using StreamReader = ::arrow::ipc::RecordBatchStreamReader;
using ::arrow::ipc::Message;

FileTask reading(const std::string& path) { return {"read", path, "", "it is damaged: "}; }

// The messages of a part of a stream: its schema, the dictionaries before, some batches.
class PartOfStream final : public ::arrow::ipc::MessageReader {
 public:
  PartOfStream(std::shared_ptr<::arrow::io::RandomAccessFile> file, const IpcIndex& index,
               int64_t first, int64_t count)
      : file_(std::move(file)) {
    messages_.push_back(index.schema);
    const auto& before = index.batches_before;
    size_t dictionary = 0;
    for (int64_t batch = 0; batch < first + count; ++batch) {
      for (; dictionary < before.size() && before[dictionary] <= batch; ++dictionary) {
        messages_.push_back(index.dictionaries[dictionary]);
      }
      if (batch >= first) messages_.push_back(index.batches[static_cast<size_t>(batch)]);
    }
  }

  ::arrow::Result<std::unique_ptr<Message>> ReadNextMessage() override {
    if (next_ == messages_.size()) return nullptr;
    const IpcMessage& message = messages_[next_++];
    ARROW_ASSIGN_OR_RAISE(auto metadata, file_->ReadAt(message.offset, message.metadata_bytes));
    ARROW_ASSIGN_OR_RAISE(
        auto body, file_->ReadAt(message.offset + message.metadata_bytes, message.body_bytes));
    return Message::Open(std::move(metadata), std::move(body));
  }

 private:
  std::shared_ptr<::arrow::io::RandomAccessFile> file_;
  std::vector<IpcMessage> messages_;
  size_t next_ = 0;
};

}  // namespace

class IpcBatchCursor final : public TableCursor {
 public:
  IpcBatchCursor(std::shared_ptr<IpcBatches> of, int64_t first, int64_t count,
                 const std::optional<std::vector<std::string>>& columns, int64_t max_rows)
      : of_(std::move(of)), batch_(first), end_(first + count), max_rows_(max_rows) {
    choose(columns);
    if (has_dictionary(schema_->fields())) max_rows_ = 0;
    const FileTask task = reading(of_->path_);
    auto options = ipc_read_options();
    options.included_fields = included_;
    in_file(task, [&] {
      if (of_->index_.is_stream) {
        auto part = std::make_unique<PartOfStream>(of_->file_, of_->index_, first, count);
        stream_ = take(StreamReader::Open(std::move(part), options), task);
      } else {
        file_ = take(FileReader::Open(of_->file_, options), task);
      }
    });
  }

  const ::arrow::Schema& schema() const override { return *schema_; }

  std::shared_ptr<api::ArrowBatch> next() override {
    if (batch_ >= end_) return nullptr;
    const int64_t first = std::exchange(batch_, end_);  // at the end after an error
    int64_t number = first;
    ::arrow::RecordBatchVector batches{read_valid(number)};
    int64_t rows = of_->batch_rows(number++);
    for (; number < end_ && rows + of_->batch_rows(number) <= max_rows_; ++number) {
      batches.push_back(read_valid(number));
      rows += of_->batch_rows(number);
    }
    const FileTask task = task_of(first);
    return in_file(task, [&] {
      auto out =
          to_plain(batches.size() == 1
                       ? *batches[0]
                       : *take(::arrow::ConcatenateRecordBatches(batches, memory_pool()), task),
                   task);
      batch_ = number;
      return out;
    });
  }

 private:
  void choose(const std::optional<std::vector<std::string>>& columns) {
    schema_ = of_->schema_;
    if (!columns) return;
    std::vector<bool> chosen(static_cast<size_t>(schema_->num_fields()));
    ::arrow::FieldVector fields;
    std::vector<int> places;
    for (const std::string& name : *columns) {
      const int place = schema_->GetFieldIndex(name);
      if (place < 0) {
        throw Error(Code::kArgument, cat("'", of_->path_, "' has no column '", name, "'",
                                         suggestion(name, schema_->field_names())));
      }
      chosen[static_cast<size_t>(place)] = true;
      places.push_back(place);
      fields.push_back(schema_->field(place));
    }
    std::vector<int> rank(chosen.size());
    for (size_t i = 0; i < chosen.size(); ++i) {
      rank[i] = static_cast<int>(included_.size());
      if (chosen[i]) included_.push_back(static_cast<int>(i));
    }
    for (const int place : places) order_.push_back(rank[static_cast<size_t>(place)]);
    schema_ = ::arrow::schema(fields);
  }

  // Batches may have dictionaries of their own, which cannot always be joined.
  static bool has_dictionary(const ::arrow::FieldVector& fields) {
    return std::any_of(fields.begin(), fields.end(), [](const auto& field) {
      return field->type()->id() == ::arrow::Type::DICTIONARY ||
             has_dictionary(field->type()->fields());
    });
  }

  FileTask task_of(int64_t number) const {
    return reading(of_->path_)
        .with(cat("batch ", number, ", at byte ", of_->message(number).offset));
  }

  std::shared_ptr<::arrow::RecordBatch> read_valid(int64_t number) {
    const FileTask task = task_of(number);
    return in_file(task, [&] {
      const auto batch = read(number, task);
      if (batch == nullptr) throw Error(Code::kArgument, failure_text(task, "it is missing"));
      check(batch->ValidateFull(), task);
      return order_.empty() ? batch : take(batch->SelectColumns(order_), task);
    });
  }

  std::shared_ptr<::arrow::RecordBatch> read(int64_t number, const FileTask& task) {
    if (file_ != nullptr) return take(file_->ReadRecordBatch(static_cast<int>(number)), task);
    std::shared_ptr<::arrow::RecordBatch> batch;
    check(stream_->ReadNext(&batch), task);
    return batch;
  }

  std::shared_ptr<IpcBatches> of_;
  int64_t batch_;
  int64_t end_;
  int64_t max_rows_;
  std::vector<int> included_;  // the chosen columns, in the order of the file; empty: all
  std::vector<int> order_;     // places of the wanted columns among those
  std::shared_ptr<::arrow::Schema> schema_;
  std::shared_ptr<FileReader> file_;
  std::shared_ptr<StreamReader> stream_;
};

IpcBatches::IpcBatches(std::string path) : path_(std::move(path)), file_(open_input(path_)) {
  const FileTask task = reading(path_);
  in_file(task, [&] {
    index_ = read_ipc_index(*file_, task);
    schema_ = index_.is_stream
                  ? take(StreamReader::Open(std::make_unique<PartOfStream>(file_, index_, 0, 0),
                                            ipc_read_options()),
                         task)
                        ->schema()
                  : take(FileReader::Open(file_, ipc_read_options()), task)->schema();
  });
}

const IpcMessage& IpcBatches::message(int64_t batch) const {
  if (batch < 0 || batch >= num_batches()) {
    throw Error(Code::kArgument, cat("'", path_, "' has ", num_batches(),
                                     " batches, counted from 0: there is no ", batch));
  }
  return index_.batches[static_cast<size_t>(batch)];
}

std::unique_ptr<TableCursor> IpcBatches::read(
    int64_t first, int64_t count, const std::optional<std::vector<std::string>>& columns,
    int64_t max_rows) {
  if (count > 0) message(first + count - 1);
  if (first < 0 || count < 0) throw Error(Code::kArgument, "read: batches are counted from 0");
  return std::make_unique<IpcBatchCursor>(shared_from_this(), first, count, columns, max_rows);
}

}  // namespace rtrain::arrow
