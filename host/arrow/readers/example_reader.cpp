#include "host/arrow/readers/example_reader.h"

#include <arrow/record_batch.h>
#include <arrow/type.h>

#include <limits>
#include <map>
#include <optional>
#include <string_view>

#include "host/arrow/readers/example_column.h"
#include "host/arrow/readers/example_value.h"
#include "host/arrow/readers/record_frames.h"
#include "host/arrow/types/plain_columns.h"
#include "host/arrow/types/type_name.h"
#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/base/text/utf8.h"

namespace rtrain::arrow {
namespace {

constexpr int64_t kSampledRecords = 1000;
constexpr int64_t kSampledBytes = int64_t{32} << 20;

using Types = std::map<std::string, std::shared_ptr<::arrow::DataType>, std::less<>>;

// Calls the function; its Error gets the place of the record.
template <class Function>
void at_record(const RecordFrames& frames, Function&& function) {
  try {
    function();
  } catch (const Error& error) {
    throw Error(error.code(), failure_text(frames.task(), error.message()));
  }
}

// Adds the types of the features that `types` lacks.
void sample(const std::string& path, Types& types) {
  std::map<std::string, FeatureForm, std::less<>> forms;
  FeatureValues values;
  RecordFrames frames(path);
  int64_t records = 0;
  int64_t bytes = 0;
  while (records < kSampledRecords && bytes < kSampledBytes) {
    const auto record = frames.next();
    if (!record) break;
    at_record(frames, [&] {
      read_features(*record, [&](std::string_view name, std::string_view feature) {
        if (types.contains(name)) return;
        if (!is_utf8(name)) throw Error(Code::kArgument, "a feature's name is not UTF-8");
        values.read(feature);
        try {
          forms[std::string(name)].add(values);
        } catch (const Error& error) {
          throw Error(error.code(), cat("feature '", name, "': ", error.message()));
        }
      });
    });
    ++records;
    bytes += static_cast<int64_t>(record->size());
  }
  for (const auto& [name, form] : forms) types.emplace(name, form.type(records));
}

class ExampleCursor final : public TableCursor {
 public:
  ExampleCursor(const std::string& path, const ExampleOptions& options)
      : options_(options), frames_(path) {
    Types types(options.column_types.begin(), options.column_types.end());
    if (options.others == OtherFeatures::kInfer) sample(path, types);
    ::arrow::FieldVector fields;
    for (const auto& [name, type] : types) {
      places_.emplace(name, columns_.size());
      columns_.emplace_back(name, type);
      fields.push_back(::arrow::field(name, type));
    }
    schema_ = ::arrow::schema(fields);
    features_.resize(columns_.size());
    frames_.skip(options.first_record);
  }

  const ::arrow::Schema& schema() const override { return *schema_; }

  std::shared_ptr<api::ArrowBatch> next() override {
    if (over_) return nullptr;
    over_ = true;  // reset after a successful read
    int64_t rows = 0;
    for (int64_t bytes = 0; rows < options_.max_rows && bytes < options_.block_bytes; ++rows) {
      const auto record = frames_.next();
      if (!record) break;
      bytes += static_cast<int64_t>(record->size());
      at_record(frames_, [&] { append(*record); });
    }
    if (rows == 0) return nullptr;
    over_ = false;
    return finish(rows);
  }

 private:
  void append(std::string_view record) {
    features_.assign(columns_.size(), std::nullopt);
    read_features(record, [&](std::string_view name, std::string_view feature) {
      const auto place = places_.find(name);
      if (place != places_.end()) {
        features_[place->second] = feature;
      } else if (options_.others != OtherFeatures::kSkip) {
        refuse_new(name, feature);
      }
    });
    for (size_t i = 0; i < columns_.size(); ++i) {
      if (!features_[i]) {
        columns_[i].append_missing();
        continue;
      }
      values_.read(*features_[i]);
      columns_[i].append(values_);
    }
  }

  [[noreturn]] void refuse_new(std::string_view name, std::string_view feature) {
    values_.read(feature);
    FeatureForm form;
    form.add(values_);
    const ExampleColumn column(std::string(name), form.type(kSampledRecords));
    throw Error(Code::kArgument,
                cat("feature '", name, "' is not in the first ", kSampledRecords,
                    " records: say column_types = {['", name, "'] = '", column_text(column), "'}"));
  }

  static std::string column_text(const ExampleColumn& column) {
    return column.type()->id() == ::arrow::Type::NA ? "int64" : type_name(*column.type());
  }

  std::shared_ptr<api::ArrowBatch> finish(int64_t rows) {
    const FileTask task = frames_.task();
    ::arrow::ArrayVector arrays;
    for (ExampleColumn& column : columns_) arrays.push_back(column.finish(task));
    return to_plain(*::arrow::RecordBatch::Make(schema_, rows, arrays), task);
  }

  ExampleOptions options_;
  RecordFrames frames_;
  std::vector<ExampleColumn> columns_;
  std::map<std::string, size_t, std::less<>> places_;  // name → index of columns_
  std::shared_ptr<::arrow::Schema> schema_;
  std::vector<std::optional<std::string_view>> features_;  // of the current record, for each column
  FeatureValues values_;
  bool over_ = false;
};

}  // namespace

std::unique_ptr<TableCursor> open_examples(const std::string& path, const ExampleOptions& options) {
  return in_file({"read", path}, [&] { return std::make_unique<ExampleCursor>(path, options); });
}

int64_t count_records(const std::string& path) {
  return RecordFrames(path).skip(std::numeric_limits<int64_t>::max());
}

}  // namespace rtrain::arrow
