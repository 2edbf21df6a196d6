// host/arrow/readers/example_column.h: features of one name as a column.
#pragma once

#include <arrow/array/builder_base.h>
#include <arrow/type_fwd.h>

#include <cstdint>
#include <memory>
#include <string>

#include "host/arrow/readers/example_value.h"
#include "host/arrow/types/status.h"

namespace rtrain::arrow {

// What the features of one name have in common, in the first records of a file.
class FeatureForm {
 public:
  // Throws Error(kArgument) if another record has values of another kind.
  void add(const FeatureValues& values);

  // One value each (none is null): that value. Equally many numbers in each of the `records`: a
  // fixed-size list. Else a list. Null if there is no value at all.
  std::shared_ptr<::arrow::DataType> type(int64_t records) const;

 private:
  FeatureKind kind_ = FeatureKind::kNone;
  int64_t count_ = 0;  // records that have the feature
  size_t least_ = 0;   // values of it
  size_t most_ = 0;
};

class ExampleColumn {
 public:
  // Throws Error(kArgument) for a type that a feature cannot have.
  ExampleColumn(std::string name, std::shared_ptr<::arrow::DataType> type);

  const std::string& name() const { return name_; }
  const std::shared_ptr<::arrow::DataType>& type() const { return type_; }

  // Both throw Error(kArgument) that says what does not fit, and the type that would.
  void append(const FeatureValues& values);
  void append_missing();
  // The rows since the last call.
  std::shared_ptr<::arrow::Array> finish(const FileTask& task);

 private:
  void check_form(const FeatureValues& values) const;
  void append_values(const FeatureValues& values);
  [[noreturn]] void refuse(std::string_view what, std::string_view better) const;

  std::string name_;
  std::shared_ptr<::arrow::DataType> type_;
  std::unique_ptr<::arrow::ArrayBuilder> builder_;  // of the type's storage
  ::arrow::ArrayBuilder* values_ = nullptr;         // builder_, or the builder of its lists' items
  FeatureKind kind_ = FeatureKind::kNone;
  bool is_text_ = false;
  bool is_list_ = false;
  int64_t size_ = -1;  // of a fixed-size list
};

}  // namespace rtrain::arrow
