#include "host/arrow/readers/csv_reader.h"

#include <arrow/array.h>
#include <arrow/csv/chunker.h>
#include <arrow/csv/converter.h>
#include <arrow/csv/parser.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include <algorithm>
#include <charconv>
#include <unordered_set>
#include <utility>

#include "host/arrow/readers/line_blocks.h"
#include "host/arrow/types/memory.h"
#include "host/arrow/types/plain_columns.h"
#include "host/arrow/types/status.h"
#include "host/arrow/types/type_name.h"
#include "host/base/error.h"
#include "host/base/text/text.h"

namespace rtrain::arrow {
namespace {

using ::arrow::csv::BlockParser;
using ::arrow::csv::Converter;
using TypePtr = std::shared_ptr<::arrow::DataType>;

// The possible types of a column, tried in this order on the first block, as in Arrow's own reader.
// uint64 is added, because Arrow's reader would round integers beyond int64.
std::vector<TypePtr> guesses() {
  using ::arrow::TimeUnit;
  return {::arrow::null(),
          ::arrow::int64(),
          ::arrow::uint64(),
          ::arrow::boolean(),
          ::arrow::date32(),
          ::arrow::timestamp(TimeUnit::SECOND),
          ::arrow::timestamp(TimeUnit::NANO),
          ::arrow::float64(),
          ::arrow::utf8(),
          ::arrow::binary()};
}

// "Row #5: CSV conversion error to int64: invalid value 'x'" → 5; -1 without a number.
int64_t row_of(std::string_view message) {
  constexpr std::string_view kMark = "Row #";
  const size_t at = message.find(kMark);
  int64_t out = -1;
  if (at == message.npos) return out;
  const std::string_view digits = message.substr(at + kMark.size());
  std::from_chars(digits.data(), digits.data() + digits.size(), out);
  return out;
}

// Removes the text before the reason ("CSV parse error: Row #3: "), and keeps only the beginning of
// the first line that the message quotes.
std::string reason_of(std::string_view message) {
  constexpr size_t kMostBytes = 200;
  for (const std::string_view mark : {"CSV parse error: ", "Row #"}) {
    if (message.starts_with(mark)) {
      const size_t end = message.find(": ");
      if (end != message.npos) message.remove_prefix(end + 2);
    }
  }
  const std::string_view shown =
      message.substr(0, std::min(message.find_first_of("\r\n"), kMostBytes));
  return cat(shown, shown.size() < message.size() ? "…" : "");
}

bool is_blank(std::string_view text) { return text.find_first_not_of("\r\n") == text.npos; }

class CsvCursor final : public TableCursor {
 public:
  CsvCursor(const std::string& path, CsvOptions options)
      : task_{"read", path},
        options_(std::move(options)),
        chunker_(::arrow::csv::MakeChunker(options_.parse)),
        blocks_(path, options_.block_bytes,
                [this](const auto& text) { return records_end(text); }) {
    in_file(task_, [this] { start(); });
  }

  const ::arrow::Schema& schema() const override { return *schema_; }

  std::shared_ptr<api::ArrowBatch> next() override {
    if (over_) return nullptr;
    over_ = true;  // reset at the end of a successful read
    return in_file(task_, [this]() -> std::shared_ptr<api::ArrowBatch> {
      while (text_.empty()) {
        if (!next_block()) return nullptr;
      }
      const auto batch = read_rows();
      over_ = false;
      return batch == nullptr ? next() : to_plain(*batch, task_);
    });
  }

 private:
  int64_t records_end(const std::shared_ptr<::arrow::Buffer>& text) const {
    std::shared_ptr<::arrow::Buffer> whole;
    std::shared_ptr<::arrow::Buffer> partial;
    check(chunker_->Process(text, &whole, &partial), task_);
    return whole->size();
  }

  bool next_block() {
    block_ = blocks_.next();
    text_ = block_ == nullptr ? std::string_view() : std::string_view(*block_);
    return block_ != nullptr;
  }

  [[noreturn]] void refuse(int64_t line, std::string_view what) const {
    throw Error(Code::kArgument, failure_text(task_.with(cat("line ", line)), what));
  }

  // The line of the file at which text_ begins.
  int64_t line() const { return blocks_.line_of(offset()); }
  int64_t offset() const {
    return block_ == nullptr ? 0 : block_->size() - static_cast<int64_t>(text_.size());
  }

  void start() {
    if (!next_block() || (blocks_.at_end() && is_blank(text_))) {
      schema_ = ::arrow::schema({});
      over_ = true;
      return;
    }
    for (int64_t i = 0; i < options_.skip_rows; ++i) skip_line();
    if (text_.empty()) next_block();
    read_names();
    if (text_.empty()) next_block();
    choose_columns();
    make_converters();
  }

  void skip_line() {
    if (text_.empty() && !next_block()) return;
    const size_t end = text_.find('\n');
    text_.remove_prefix(end == text_.npos ? text_.size() : end + 1);
  }

  std::vector<std::string> first_row(bool keep) {
    const int64_t at = line();
    BlockParser parser(memory_pool(), options_.parse, /*num_cols=*/-1, /*first_row=*/1,
                       /*max_num_rows=*/1);
    uint32_t size = 0;
    const auto status =
        blocks_.at_end() ? parser.ParseFinal(text_, &size) : parser.Parse(text_, &size);
    if (!status.ok()) refuse(at, reason_of(status.message()));
    if (parser.num_rows() != 1) refuse(at, "there is no row to take the columns' names from");
    std::vector<std::string> out;
    check(parser.VisitLastRow([&](const uint8_t* data, uint32_t length, bool, bool) {
      out.emplace_back(reinterpret_cast<const char*>(data), length);
      return ::arrow::Status::OK();
    }),
          task_);
    if (!keep) text_.remove_prefix(size);
    return out;
  }

  void read_names() {
    const int64_t at = line();
    names_ = first_row(/*keep=*/!options_.header);
    if (options_.column_names) {
      if (options_.column_names->size() != names_.size()) {
        refuse(at, cat("it has ", names_.size(), " columns, column_names ",
                       options_.column_names->size()));
      }
      names_ = *options_.column_names;
    } else if (!options_.header) {
      for (size_t i = 0; i < names_.size(); ++i) names_[i] = cat("f", i);
    }
    std::unordered_set<std::string> known;
    for (const std::string& name : names_) {
      if (!known.insert(name).second) refuse(at, cat("two columns are called '", name, "'"));
    }
  }

  int place_of(const std::string& name) const {
    for (size_t i = 0; i < names_.size(); ++i) {
      if (names_[i] == name) return static_cast<int>(i);
    }
    throw Error(Code::kArgument,
                cat("'", task_.path, "' has no column '", name, "'", suggestion(name, names_)));
  }

  void choose_columns() {
    for (const auto& [name, type] : options_.convert.column_types) place_of(name);
    for (const std::string& name : options_.columns.value_or(names_)) {
      chosen_.push_back(place_of(name));
    }
  }

  // The type of a column in the rows of a parser.
  TypePtr guess(const BlockParser& parser, int column) const {
    for (const TypePtr& type : guesses()) {
      const auto converter = take(Converter::Make(type, options_.convert, memory_pool()), task_);
      if (converter->Convert(parser, column).ok()) return type;
    }
    return ::arrow::binary();
  }

  void make_converters() {
    BlockParser parser(memory_pool(), options_.parse, static_cast<int>(names_.size()), 1);
    uint32_t size = 0;
    parse(parser, text_, &size);
    ::arrow::FieldVector fields;
    for (const int column : chosen_) {
      const std::string& name = names_[static_cast<size_t>(column)];
      const auto given = options_.convert.column_types.find(name);
      const bool known = given != options_.convert.column_types.end();
      const TypePtr type = known ? given->second : guess(parser, column);
      guessed_.push_back(!known);
      fields.push_back(::arrow::field(name, type));
      converters_.push_back(take(Converter::Make(type, options_.convert, memory_pool()), task_));
    }
    schema_ = ::arrow::schema(fields);
  }

  void parse(BlockParser& parser, std::string_view text, uint32_t* size) {
    const auto status = blocks_.at_end() ? parser.ParseFinal(text, size) : parser.Parse(text, size);
    if (status.ok()) return;
    const int64_t row = row_of(status.message());
    refuse(row < 1 ? line() : line_of_row(row), reason_of(status.message()));
  }

  // The line of a row, which counts from 1 at the beginning of text_. Parses the rows before it
  // again, because values may contain line ends and lines may be empty.
  int64_t line_of_row(int64_t row) const {
    const int64_t start = offset();
    uint32_t size = 0;
    if (row > 1) {
      BlockParser parser(memory_pool(), options_.parse, static_cast<int>(names_.size()), 1,
                         static_cast<int32_t>(row - 1));
      if (!parser.Parse(text_, &size).ok()) return blocks_.line_of(start);
    }
    while (size < text_.size() && (text_[size] == '\n' || text_[size] == '\r')) ++size;
    return blocks_.line_of(start + size);
  }

  std::shared_ptr<::arrow::RecordBatch> read_rows() {
    BlockParser parser(memory_pool(), options_.parse, static_cast<int>(names_.size()), 1);
    uint32_t size = 0;
    parse(parser, text_, &size);
    if (parser.num_rows() == 0) {
      // Only empty lines are left.
      text_ = {};
      return nullptr;
    }
    ::arrow::ArrayVector arrays;
    for (size_t i = 0; i < converters_.size(); ++i) {
      auto array = converters_[i]->Convert(parser, chosen_[i]);
      if (!array.ok()) refuse_value(array.status(), i);
      arrays.push_back(*array);
    }
    text_.remove_prefix(size);
    return ::arrow::RecordBatch::Make(schema_, parser.num_rows(), arrays);
  }

  [[noreturn]] void refuse_value(const ::arrow::Status& status, size_t i) const {
    const ::arrow::Field& field = *schema_->field(static_cast<int>(i));
    const int64_t row = row_of(status.message());
    std::string what = cat("column '", field.name(), "': ", reason_of(status.message()));
    if (guessed_[i]) {
      what += cat(" (the file's first rows look like ", type_name(*field.type()),
                  ": give the column's type with column_types = {['", field.name(),
                  "'] = 'string'} or another)");
    }
    refuse(row < 1 ? line() : line_of_row(row), what);
  }

  FileTask task_;
  CsvOptions options_;
  std::unique_ptr<::arrow::Chunker> chunker_;
  LineBlocks blocks_;
  std::shared_ptr<::arrow::Buffer> block_;
  std::string_view text_;  // the unread part of the block
  std::vector<std::string> names_;
  std::vector<int> chosen_;
  std::vector<std::shared_ptr<Converter>> converters_;
  std::vector<bool> guessed_;
  std::shared_ptr<::arrow::Schema> schema_;
  bool over_ = false;
};

}  // namespace

std::unique_ptr<TableCursor> open_csv(const std::string& path, CsvOptions options) {
  return std::make_unique<CsvCursor>(path, std::move(options));
}

}  // namespace rtrain::arrow
