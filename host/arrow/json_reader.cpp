#include "host/arrow/json_reader.h"

#include <arrow/json/options.h>
#include <arrow/json/reader.h>
#include <arrow/record_batch.h>

#include "host/arrow/line_blocks.h"
#include "host/arrow/plain_columns.h"
#include "host/arrow/status.h"
#include "host/base/error.h"
#include "host/base/text.h"

namespace rtrain {
namespace {

using arrow::json::UnexpectedFieldBehavior;

int64_t last_line_end(const std::shared_ptr<arrow::Buffer>& text) {
  return static_cast<int64_t>(std::string_view(*text).rfind('\n') + 1);
}

// Behind the end of the line that holds this place.
int64_t line_end(std::string_view text, int64_t place) {
  const size_t end = text.find('\n', static_cast<size_t>(place));
  return static_cast<int64_t>(end == text.npos ? text.size() : end + 1);
}

bool is_blank(const arrow::Buffer& text) {
  return std::string_view(text).find_first_not_of(" \t\r\n") == std::string_view::npos;
}

class JsonCursor final : public TableCursor {
 public:
  JsonCursor(const std::string& path, const JsonOptions& options)
      : task_{"read", path}, blocks_(path, options.block_bytes, last_line_end) {
    arrow::FieldVector fields;
    for (const auto& [name, type] : options.column_types)
      fields.push_back(arrow::field(name, type));
    options_.explicit_schema = arrow::schema(fields);
    in_file(task_, [&] { first_ = read(); });
    if (first_ == nullptr) {
      throw Error(Code::kArgument, failure_text(task_, "it is empty: no line holds an object"));
    }
    options_.explicit_schema = first_->schema();
    options_.unexpected_field_behavior = UnexpectedFieldBehavior::Error;
  }

  const arrow::Schema& schema() const override { return *options_.explicit_schema; }

  std::shared_ptr<ArrowBatch> next() override {
    if (over_) return nullptr;
    over_ = true;  // unless it goes well
    return in_file(task_, [&]() -> std::shared_ptr<ArrowBatch> {
      const auto batch = first_ != nullptr ? std::exchange(first_, nullptr) : read();
      if (batch == nullptr) return nullptr;
      over_ = false;
      return to_plain(*batch, task_);
    });
  }

 private:
  std::shared_ptr<arrow::RecordBatch> read() {
    while (const auto block = blocks_.next()) {
      if (is_blank(*block)) continue;
      auto batch = arrow::json::ParseOne(options_, block);
      if (batch.ok()) return *batch;
      fail_at(batch.status(), block);
    }
    return nullptr;
  }

  arrow::Status try_parse(const std::shared_ptr<arrow::Buffer>& text) const {
    return is_blank(*text) ? arrow::Status::OK() : arrow::json::ParseOne(options_, text).status();
  }

  // The first line with which the block cannot be read; found by halving.
  [[noreturn]] void fail_at(arrow::Status reason, const std::shared_ptr<arrow::Buffer>& block) {
    const std::string_view text(*block);
    int64_t good = 0;
    int64_t bad = block->size();
    while (true) {
      int64_t cut = line_end(text, (good + bad) / 2);
      if (cut >= bad) cut = line_end(text, good);
      if (cut >= bad) break;
      const arrow::Status status = try_parse(arrow::SliceBuffer(block, 0, cut));
      (status.ok() ? good : bad) = cut;
      if (!status.ok()) reason = status;
    }
    // Arrow counts the rows of the block.
    const std::string text_of_reason = reason.message();
    fail(reason.WithMessage(text_of_reason.substr(0, text_of_reason.rfind(" in row "))),
         task_.with(cat("line ", blocks_.line_of(good))));
  }

  FileTask task_;
  LineBlocks blocks_;
  arrow::json::ParseOptions options_ = arrow::json::ParseOptions::Defaults();
  std::shared_ptr<arrow::RecordBatch> first_;
  bool over_ = false;
};

}  // namespace

std::unique_ptr<TableCursor> open_json(const std::string& path, const JsonOptions& options) {
  return std::make_unique<JsonCursor>(path, options);
}

}  // namespace rtrain
