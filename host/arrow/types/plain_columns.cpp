#include "host/arrow/types/plain_columns.h"

#include <arrow/array.h>
#include <arrow/c/bridge.h>
#include <arrow/compute/cast.h>
#include <arrow/extension/fixed_shape_tensor.h>

#include "host/arrow/types/memory.h"
#include "host/arrow/types/type_name.h"
#include "host/base/text/text.h"

namespace rtrain::arrow {
namespace {

using ::arrow::Type;
using ArrayPtr = std::shared_ptr<::arrow::Array>;
using TensorType = ::arrow::extension::FixedShapeTensorType;

::arrow::Result<ArrayPtr> cast(const ::arrow::Array& array,
                               const std::shared_ptr<::arrow::DataType>& type) {
  return ::arrow::compute::Cast(array, type, ::arrow::compute::CastOptions::Unsafe(),
                                exec_context());
}

::arrow::Result<ArrayPtr> plain(const ArrayPtr& array);

// Rebuilds lists or structs around converted children.
::arrow::Result<ArrayPtr> plain_nested(const ::arrow::Array& array) {
  auto data = array.data()->Copy();
  ::arrow::FieldVector fields = array.type()->fields();
  bool changed = array.type_id() == Type::MAP;
  for (size_t i = 0; i < data->child_data.size(); ++i) {
    const ArrayPtr child = ::arrow::MakeArray(data->child_data[i]);
    ARROW_ASSIGN_OR_RAISE(const ArrayPtr out, plain(child));
    changed |= out != child;
    data->child_data[i] = out->data();
    fields[i] = fields[i]->WithType(out->type());
  }
  if (!changed) return ::arrow::MakeArray(array.data());
  switch (array.type_id()) {
    case Type::STRUCT:
      data->type = ::arrow::struct_(fields);
      break;
    case Type::LARGE_LIST:
      data->type = ::arrow::large_list(fields[0]);
      break;
    case Type::FIXED_SIZE_LIST:
      data->type = ::arrow::fixed_size_list(
          fields[0], static_cast<const ::arrow::FixedSizeListType&>(*array.type()).list_size());
      break;
    default:
      data->type = ::arrow::list(fields[0]);
  }
  return ::arrow::MakeArray(data);
}

::arrow::Result<ArrayPtr> plain_time(const ::arrow::Array& array) {
  const bool narrow = array.type_id() == Type::DATE32 || array.type_id() == Type::TIME32;
  if (!narrow) return array.View(::arrow::int64());
  ARROW_ASSIGN_OR_RAISE(const ArrayPtr view, array.View(::arrow::int32()));
  return cast(*view, ::arrow::int64());
}

// Integers stay exact; decimals with a fraction become the nearest float64.
::arrow::Result<ArrayPtr> plain_decimal(const ::arrow::Array& array) {
  const auto& type = static_cast<const ::arrow::DecimalType&>(*array.type());
  if (type.scale() != 0) return cast(array, ::arrow::float64());
  auto out = ::arrow::compute::Cast(array, ::arrow::int64(), ::arrow::compute::CastOptions::Safe(),
                                    exec_context());
  if (out.ok()) return out;
  return ::arrow::Status::NotImplemented(
      "it is of type ", type.ToString(), " with values beyond int64, which have no exact form ",
      "here: write it as strings or float64, or leave it out with columns");
}

::arrow::Result<ArrayPtr> plain_dictionary(const ::arrow::Array& array) {
  const auto& type = static_cast<const ::arrow::DictionaryType&>(*array.type());
  ARROW_ASSIGN_OR_RAISE(const ArrayPtr values, cast(array, type.value_type()));
  return plain(values);
}

::arrow::Result<ArrayPtr> plain(const ArrayPtr& array) {
  switch (array->type_id()) {
    case Type::EXTENSION:
      return plain(static_cast<const ::arrow::ExtensionArray&>(*array).storage());
    case Type::DICTIONARY:
      return plain_dictionary(*array);
    case Type::DECIMAL32:
    case Type::DECIMAL64:
    case Type::DECIMAL128:
    case Type::DECIMAL256:
      return plain_decimal(*array);
    case Type::DATE32:
    case Type::TIME32:
    case Type::DATE64:
    case Type::TIME64:
    case Type::TIMESTAMP:
    case Type::DURATION:
      return plain_time(*array);
    case Type::STRING_VIEW:
      return cast(*array, ::arrow::large_utf8());
    case Type::BINARY_VIEW:
    case Type::FIXED_SIZE_BINARY:
      return cast(*array, ::arrow::large_binary());
    case Type::LIST_VIEW:
      return cast(*array, ::arrow::list(array->type()->field(0)));
    case Type::LARGE_LIST_VIEW:
      return cast(*array, ::arrow::large_list(array->type()->field(0)));
    case Type::LIST:
    case Type::LARGE_LIST:
    case Type::FIXED_SIZE_LIST:
    case Type::MAP:
    case Type::STRUCT:
      return plain_nested(*array);
    case Type::SPARSE_UNION:
    case Type::DENSE_UNION:
    case Type::INTERVAL_MONTHS:
    case Type::INTERVAL_DAY_TIME:
    case Type::INTERVAL_MONTH_DAY_NANO:
    case Type::RUN_END_ENCODED:
      return ::arrow::Status::NotImplemented("values of type ", array->type()->ToString(),
                                             " have no form here");
    default:
      return array;
  }
}

std::shared_ptr<api::ArrowColumn> plain_column(const ::arrow::Field& field, const ArrayPtr& array,
                                               const FileTask& task) {
  auto out = std::make_shared<api::ArrowColumn>();
  out->name = field.name();
  if (const auto* tensor = dynamic_cast<const TensorType*>(field.type().get())) {
    out->shape = tensor->shape();
    out->permutation = tensor->permutation();
  } else if (field.type()->id() == Type::FIXED_SIZE_LIST) {
    out->shape = {static_cast<const ::arrow::FixedSizeListType&>(*field.type()).list_size()};
  }
  const ArrayPtr values = take(plain(array), task);
  check(::arrow::ExportArray(*values, &out->array, &out->schema), task);
  return out;
}

}  // namespace

std::shared_ptr<api::ArrowBatch> to_plain(const ::arrow::RecordBatch& batch, const FileTask& task) {
  auto out = std::make_shared<api::ArrowBatch>();
  out->num_rows = batch.num_rows();
  for (int i = 0; i < batch.num_columns(); ++i) {
    const ::arrow::Field& field = *batch.schema()->field(i);
    const FileTask column =
        task.with(cat(task.part, task.part.empty() ? "" : ", ", "column '", field.name(), "'"));
    out->columns.push_back(plain_column(field, batch.column(i), column));
  }
  return out;
}

namespace {

// Copies of the C structs that keep the column alive: Arrow takes ownership of imported structs.
ArrowArray lend_array(const std::shared_ptr<api::ArrowColumn>& column) {
  using Holder = std::shared_ptr<api::ArrowColumn>;
  ArrowArray out = column->array;
  out.private_data = new Holder(column);
  out.release = [](ArrowArray* array) {
    delete static_cast<Holder*>(array->private_data);
    array->release = nullptr;
  };
  return out;
}

ArrowSchema lend_schema(const api::ArrowColumn& column) {
  ArrowSchema out = column.schema;
  out.release = [](ArrowSchema* schema) { schema->release = nullptr; };
  return out;
}

ArrayPtr import_column(const std::shared_ptr<api::ArrowColumn>& column, const FileTask& task) {
  ArrowArray array = lend_array(column);
  ArrowSchema schema = lend_schema(*column);
  const ArrayPtr out = take(::arrow::ImportArray(&array, &schema), task);
  if (out->type_id() == Type::LARGE_STRING) check(out->ValidateFull(), task);
  if (column->shape.empty() || out->type_id() != Type::FIXED_SIZE_LIST) return out;
  const auto& list = static_cast<const ::arrow::FixedSizeListType&>(*out->type());
  return ::arrow::ExtensionType::WrapArray(
      take(TensorType::Make(list.value_type(), column->shape, column->permutation), task), out);
}

}  // namespace

std::shared_ptr<::arrow::RecordBatch> from_plain(const api::ArrowBatch& batch,
                                                 const FileTask& task) {
  ::arrow::FieldVector fields;
  ::arrow::ArrayVector arrays;
  for (const auto& column : batch.columns) {
    arrays.push_back(import_column(column, task.with(cat("column '", column->name, "'"))));
    fields.push_back(::arrow::field(column->name, arrays.back()->type()));
  }
  return ::arrow::RecordBatch::Make(::arrow::schema(fields), batch.num_rows, arrays);
}

}  // namespace rtrain::arrow
