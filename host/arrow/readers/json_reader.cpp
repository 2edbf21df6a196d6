#include "host/arrow/readers/json_reader.h"

#include <arrow/array.h>
#include <arrow/json/options.h>
#include <arrow/json/reader.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include <algorithm>
#include <cmath>

#include "host/arrow/readers/line_blocks.h"
#include "host/arrow/types/plain_columns.h"
#include "host/arrow/types/status.h"
#include "host/arrow/types/type_name.h"
#include "host/base/error.h"
#include "host/base/text/text.h"

namespace rtrain::arrow {
namespace {

using ::arrow::json::UnexpectedFieldBehavior;

int64_t last_line_end(const std::shared_ptr<::arrow::Buffer>& text) {
  return static_cast<int64_t>(std::string_view(*text).rfind('\n') + 1);
}

// The position after the line that contains `place`.
int64_t line_end(std::string_view text, int64_t place) {
  const size_t end = text.find('\n', static_cast<size_t>(place));
  return static_cast<int64_t>(end == text.npos ? text.size() : end + 1);
}

bool is_blank(const ::arrow::Buffer& text) {
  return std::string_view(text).find_first_not_of(" \t\r\n") == std::string_view::npos;
}

// Limit of nesting, because Arrow parses recursively. A thread's stack has space for many times
// that.
constexpr int kMaxDepth = 100;

// The position after the object that the line begins with; npos if the line begins with something
// else, the object does not end in the line, or it is nested too deeply.
size_t object_end(std::string_view line) {
  int depth = 0;
  int lists = 0;
  bool quoted = false;
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quoted) {
      if (c == '\\') ++i;
      if (c == '"') quoted = false;
      continue;
    }
    if (c == '{') ++depth;
    if (c == '[') ++lists;
    if (c == ']') --lists;
    if (depth == 0 || depth + lists > kMaxDepth) return line.npos;
    if (c == '"') quoted = true;
    if (c == '}' && --depth == 0) return i + 1;
  }
  return line.npos;
}

// The beginning of the first line that is neither blank nor exactly one object; -1 if there is
// none. Arrow's parser would take other values for rows, and crashes if the first one is null.
int64_t find_no_object(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r";
  for (size_t begin = 0; begin < text.size();) {
    const auto end = static_cast<size_t>(line_end(text, static_cast<int64_t>(begin)));
    std::string_view line = text.substr(begin, end - begin);
    if (line.ends_with('\n')) line.remove_suffix(1);
    line.remove_prefix(std::min(line.find_first_not_of(kBlank), line.size()));
    const size_t rest = line.empty() ? 0 : object_end(line);
    if (rest == line.npos || line.find_first_not_of(kBlank, rest) != line.npos) {
      return static_cast<int64_t>(begin);
    }
    begin = end;
  }
  return -1;
}

// Whether these numbers may all be non-negative integers of which some fit only into uint64. Arrow
// reads such integers as float64, which rounds them.
bool may_be_uint64(const ::arrow::DoubleArray& numbers) {
  constexpr double kAboveInt64 = 0x1p63;
  constexpr double kAboveUint64 = 0x1p64;  // 2^64 - 1, rounded to a double
  bool has_large = false;
  for (int64_t i = 0; i < numbers.length(); ++i) {
    if (numbers.IsNull(i)) continue;
    const double number = numbers.Value(i);
    if (!(number >= 0 && number <= kAboveUint64) || std::floor(number) != number) return false;
    has_large |= number >= kAboveInt64;
  }
  return has_large;
}

// The column's type as Arrow has guessed it, with uint64 in place of float64 for such numbers.
std::shared_ptr<::arrow::DataType> with_uint64(const ::arrow::Array& array) {
  switch (array.type_id()) {
    case ::arrow::Type::DOUBLE:
      return may_be_uint64(static_cast<const ::arrow::DoubleArray&>(array)) ? ::arrow::uint64()
                                                                            : array.type();
    case ::arrow::Type::LIST: {
      const auto& field = array.type()->field(0);
      return ::arrow::list(
          field->WithType(with_uint64(*static_cast<const ::arrow::ListArray&>(array).values())));
    }
    case ::arrow::Type::STRUCT: {
      ::arrow::FieldVector fields = array.type()->fields();
      for (size_t i = 0; i < fields.size(); ++i) {
        const auto& values = static_cast<const ::arrow::StructArray&>(array);
        fields[i] = fields[i]->WithType(with_uint64(*values.field(static_cast<int>(i))));
      }
      return ::arrow::struct_(fields);
    }
    default:
      return array.type();
  }
}

class JsonCursor final : public TableCursor {
 public:
  JsonCursor(const std::string& path, const JsonOptions& options)
      : task_{"read", path}, blocks_(path, options.block_bytes, last_line_end) {
    ::arrow::FieldVector fields;
    for (const auto& [name, type] : options.column_types)
      fields.push_back(::arrow::field(name, type));
    options_.explicit_schema = ::arrow::schema(fields);
    in_file(task_, [&] {
      std::shared_ptr<::arrow::Buffer> block;
      first_ = read(&block);
      if (first_ != nullptr) keep_digits(block);
    });
    over_ = first_ == nullptr;
    options_.explicit_schema = over_ ? ::arrow::schema({}) : first_->schema();
    options_.unexpected_field_behavior = UnexpectedFieldBehavior::Error;
  }

  const ::arrow::Schema& schema() const override { return *options_.explicit_schema; }

  std::shared_ptr<api::ArrowBatch> next() override {
    if (over_) return nullptr;
    over_ = true;  // reset at the end of a successful read
    return in_file(task_, [&]() -> std::shared_ptr<api::ArrowBatch> {
      const auto batch = first_ != nullptr ? std::exchange(first_, nullptr) : read();
      if (batch == nullptr) return nullptr;
      over_ = false;
      return to_plain(*batch, task_);
    });
  }

 private:
  std::shared_ptr<::arrow::RecordBatch> read(
      std::shared_ptr<::arrow::Buffer>* read_from = nullptr) {
    while (const auto block = blocks_.next()) {
      if (is_blank(*block)) continue;
      const int64_t bad = find_no_object(std::string_view(*block));
      if (bad >= 0) {
        throw Error(Code::kArgument,
                    failure_text(task_.with(cat("line ", blocks_.line_of(bad))),
                                 cat("it is not one JSON object of at most ", kMaxDepth,
                                     " levels, with nothing behind it")));
      }
      auto batch = parse(block);
      if (batch.ok()) {
        if (read_from != nullptr) *read_from = block;
        return *batch;
      }
      fail_at(batch.status(), block);
    }
    return nullptr;
  }

  // Arrow loses the nulls that come before the first other item of all lists of a column, if it has
  // to find the type of the items. Told the types that it has found, it keeps them.
  ::arrow::Result<std::shared_ptr<::arrow::RecordBatch>> parse(
      const std::shared_ptr<::arrow::Buffer>& block) const {
    auto batch = ::arrow::json::ParseOne(options_, block);
    if (!batch.ok() || (*batch)->Validate().ok()) return batch;
    auto options = options_;
    options.explicit_schema = (*batch)->schema();
    return ::arrow::json::ParseOne(options, block);
  }

  // Reads a column of the first block again, as uint64, if Arrow may have rounded its integers. The
  // column stays unchanged if a value is not written as an integer of uint64.
  void keep_digits(const std::shared_ptr<::arrow::Buffer>& block) {
    for (int i = 0; i < first_->num_columns(); ++i) {
      const auto& field = first_->schema()->field(i);
      const auto type = with_uint64(*first_->column(i));
      if (type->Equals(field->type())) continue;
      if (options_.explicit_schema->GetFieldByName(field->name()) != nullptr) continue;
      auto options = options_;
      options.explicit_schema = take(first_->schema()->SetField(i, field->WithType(type)), task_);
      if (const auto again = ::arrow::json::ParseOne(options, block); again.ok()) first_ = *again;
    }
  }

  ::arrow::Status try_parse(const std::shared_ptr<::arrow::Buffer>& text) const {
    return is_blank(*text) ? ::arrow::Status::OK()
                           : ::arrow::json::ParseOne(options_, text).status();
  }

  // A key of the line that the first rows of the file do not have; empty if the line fails for
  // another reason.
  std::string new_key(const std::shared_ptr<::arrow::Buffer>& line) const {
    // The first block determines the keys.
    if (options_.unexpected_field_behavior != UnexpectedFieldBehavior::Error) return "";
    auto options = options_;
    options.unexpected_field_behavior = UnexpectedFieldBehavior::InferType;
    const auto row = ::arrow::json::ParseOne(options, line);
    if (!row.ok()) return "";
    return new_field(options_.explicit_schema->fields(), (*row)->schema()->fields());
  }

  // The column whose type in the line differs from the file's first rows, with advice; "" in the
  // first block, which determines the types.
  std::string other_type(const std::shared_ptr<::arrow::Buffer>& line) const {
    if (options_.unexpected_field_behavior != UnexpectedFieldBehavior::Error) return "";
    auto options = options_;
    options.unexpected_field_behavior = UnexpectedFieldBehavior::Ignore;
    for (const auto& field : options_.explicit_schema->fields()) {
      options.explicit_schema = ::arrow::schema({field});
      if (::arrow::json::ParseOne(options, line).ok()) continue;
      return cat(": column '", field->name(), "' is ", type_name(*field->type()),
                 " in the file's first rows",
                 field->type()->num_fields() > 0 ? "" : advice(field->name()));
    }
    return "";
  }

  // For a nested key there is no advice on column_types, because a type cannot be given in part.
  static std::string advice(const std::string& key) {
    if (key.find('.') != key.npos) return ": have it in the first row too";
    return cat(": give the column's type with column_types = {['", key,
               "'] = 'string'} or another");
  }

  static std::string new_field(const ::arrow::FieldVector& known,
                               const ::arrow::FieldVector& fields) {
    for (const auto& field : fields) {
      const auto same = std::find_if(known.begin(), known.end(), [&](const auto& other) {
        return other->name() == field->name();
      });
      if (same == known.end()) return field->name();
      const std::string inner = new_field((*same)->type()->fields(), field->type()->fields());
      if (!inner.empty()) return cat(field->name(), ".", inner);
    }
    return "";
  }

  // Finds the first line that makes the block fail, by bisection, and throws its error.
  [[noreturn]] void fail_at(::arrow::Status reason, const std::shared_ptr<::arrow::Buffer>& block) {
    const std::string_view text(*block);
    int64_t good = 0;
    int64_t bad = block->size();
    while (true) {
      int64_t cut = line_end(text, (good + bad) / 2);
      if (cut >= bad) cut = line_end(text, good);
      if (cut >= bad) break;
      const ::arrow::Status status = try_parse(::arrow::SliceBuffer(block, 0, cut));
      (status.ok() ? good : bad) = cut;
      if (!status.ok()) reason = status;
    }
    const FileTask task = task_.with(cat("line ", blocks_.line_of(good)));
    const auto line = ::arrow::SliceBuffer(block, good, line_end(text, good) - good);
    const std::string key = new_key(line);
    if (!key.empty()) {
      throw Error(
          Code::kArgument,
          failure_text(task, cat("it has a key '", key,
                                 "', which the file's first rows do not have", advice(key))));
    }
    // Removes Arrow's row number, which counts within the block.
    const std::string text_of_reason = reason.message();
    fail(reason.WithMessage(text_of_reason.substr(0, text_of_reason.rfind(" in row ")),
                            other_type(line)),
         task);
  }

  FileTask task_;
  LineBlocks blocks_;
  ::arrow::json::ParseOptions options_ = ::arrow::json::ParseOptions::Defaults();
  std::shared_ptr<::arrow::RecordBatch> first_;
  bool over_ = false;
};

}  // namespace

std::unique_ptr<TableCursor> open_json(const std::string& path, const JsonOptions& options) {
  return std::make_unique<JsonCursor>(path, options);
}

}  // namespace rtrain::arrow
