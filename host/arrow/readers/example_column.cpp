#include "host/arrow/readers/example_column.h"

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/extension_type.h>

#include <algorithm>
#include <utility>

#include "host/arrow/types/memory.h"
#include "host/arrow/types/type_name.h"
#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/base/text/utf8.h"

namespace rtrain::arrow {
namespace {

using ::arrow::Type;
using TypePtr = std::shared_ptr<::arrow::DataType>;

TypePtr type_of(FeatureKind kind) {
  switch (kind) {
    case FeatureKind::kBytes:
      return ::arrow::large_binary();
    case FeatureKind::kFloats:
      return ::arrow::float32();
    case FeatureKind::kInts:
      return ::arrow::int64();
    default:
      return ::arrow::null();
  }
}

FeatureKind kind_of(const ::arrow::DataType& type) {
  switch (type.id()) {
    case Type::LARGE_BINARY:
    case Type::LARGE_STRING:
      return FeatureKind::kBytes;
    case Type::FLOAT:
      return FeatureKind::kFloats;
    case Type::INT64:
      return FeatureKind::kInts;
    default:
      return FeatureKind::kNone;
  }
}

const TypePtr& storage_of(const TypePtr& type) {
  if (type->id() != Type::EXTENSION) return type;
  return static_cast<const ::arrow::ExtensionType&>(*type).storage_type();
}

void must(const ::arrow::Status& status) {
  if (status.ok()) return;
  throw Error(status.IsOutOfMemory() ? Code::kOutOfMemory : Code::kArgument, status.message());
}

std::string count_text(size_t count) { return cat(count, count == 1 ? " value" : " values"); }

}  // namespace

// An empty list may be of any kind.
void FeatureForm::add(const FeatureValues& values) {
  if (values.size() > 0) {
    if (most_ == 0) kind_ = values.kind();
    if (values.kind() != kind_) {
      throw Error(Code::kArgument,
                  cat("its values are ", type_name(*type_of(values.kind())),
                      ", those of records before are ", type_name(*type_of(kind_))));
    }
  } else if (kind_ == FeatureKind::kNone) {
    kind_ = values.kind();
  }
  least_ = count_ == 0 ? values.size() : std::min(least_, values.size());
  most_ = std::max(most_, values.size());
  ++count_;
}

TypePtr FeatureForm::type(int64_t records) const {
  const TypePtr value = type_of(kind_);
  if (kind_ == FeatureKind::kNone || most_ == 1) return value;
  const bool is_fixed = count_ == records && least_ == most_ && most_ > 0;
  if (!is_fixed || kind_ == FeatureKind::kBytes) return ::arrow::list(value);
  return ::arrow::fixed_size_list(value, static_cast<int32_t>(most_));
}

ExampleColumn::ExampleColumn(std::string name, TypePtr type)
    : name_(std::move(name)), type_(std::move(type)) {
  const TypePtr& storage = storage_of(type_);
  is_list_ = storage->id() == Type::LIST || storage->id() == Type::FIXED_SIZE_LIST;
  const TypePtr value = is_list_ ? storage->field(0)->type() : storage;
  kind_ = kind_of(*value);
  is_text_ = value->id() == Type::LARGE_STRING;
  if (kind_ == FeatureKind::kNone && type_->id() != Type::NA) {
    throw Error(Code::kArgument,
                cat("column_types.", name_, ": '", type_name(*type_),
                    "' is not a type of a feature: int64, float32, binary or string, a list "
                    "'list<int64>' or a tensor 'tensor<float32>[28,28]'"));
  }
  must(::arrow::MakeBuilder(memory_pool(), storage, &builder_));
  values_ = builder_.get();
  if (storage->id() == Type::LIST) {
    values_ = static_cast<::arrow::ListBuilder&>(*builder_).value_builder();
  } else if (storage->id() == Type::FIXED_SIZE_LIST) {
    size_ = static_cast<const ::arrow::FixedSizeListType&>(*storage).list_size();
    values_ = static_cast<::arrow::FixedSizeListBuilder&>(*builder_).value_builder();
  }
}

void ExampleColumn::refuse(std::string_view what, std::string_view better) const {
  throw Error(Code::kArgument,
              cat("feature '", name_, "' ", what, ", and the column is ", type_name(*type_),
                  ", from the first records or from ", "column_types: say column_types = {['",
                  name_, "'] = '", better, "'}"));
}

void ExampleColumn::append_missing() {
  if (size_ >= 0) {
    refuse("is missing", cat("list<", type_name(*storage_of(type_)->field(0)->type()), ">"));
  }
  must(builder_->AppendNull());
}

void ExampleColumn::append_values(const FeatureValues& values) {
  if (kind_ == FeatureKind::kFloats) {
    return must(static_cast<::arrow::FloatBuilder&>(*values_).AppendValues(values.floats()));
  }
  if (kind_ == FeatureKind::kInts) {
    return must(static_cast<::arrow::Int64Builder&>(*values_).AppendValues(values.ints()));
  }
  for (const std::string_view text : values.strings()) {
    if (is_text_ && !is_utf8(text)) refuse("is not UTF-8", is_list_ ? "list<binary>" : "binary");
    // The builder of strings is one of bytes.
    must(static_cast<::arrow::LargeBinaryBuilder&>(*values_).Append(text));
  }
}

void ExampleColumn::check_form(const FeatureValues& values) const {
  const size_t count = values.size();
  const bool is_kind = values.kind() == kind_ || count == 0;
  const bool is_count = size_ >= 0 ? static_cast<int64_t>(count) == size_ : is_list_ || count == 1;
  if (is_kind && is_count) return;
  const std::string value = type_name(*type_of(values.kind()));
  const bool is_one = !is_kind && !is_list_ && count == 1;
  refuse(is_kind ? cat("has ", count_text(count)) : cat("holds ", value),
         is_one ? value : cat("list<", value, ">"));
}

void ExampleColumn::append(const FeatureValues& values) {
  const bool is_missing = values.kind() == FeatureKind::kNone || (values.size() == 0 && !is_list_);
  if (is_missing) return append_missing();
  check_form(values);
  if (size_ >= 0) {
    must(static_cast<::arrow::FixedSizeListBuilder&>(*builder_).Append());
  } else if (is_list_) {
    must(static_cast<::arrow::ListBuilder&>(*builder_).Append());
  }
  if (values.size() > 0) append_values(values);
}

std::shared_ptr<::arrow::Array> ExampleColumn::finish(const FileTask& task) {
  const auto out = take(builder_->Finish(), task);
  if (type_->id() != Type::EXTENSION) return out;
  return ::arrow::ExtensionType::WrapArray(type_, out);
}

}  // namespace rtrain::arrow
