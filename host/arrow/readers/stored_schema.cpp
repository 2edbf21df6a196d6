#include "host/arrow/readers/stored_schema.h"

#include <arrow/buffer.h>
#include <arrow/io/memory.h>
#include <arrow/ipc/dictionary.h>
#include <arrow/ipc/reader.h>
#include <arrow/ipc/writer.h>
#include <arrow/type.h>
#include <arrow/util/base64.h>
#include <arrow/util/key_value_metadata.h>

#include <memory>
#include <string>

namespace rtrain::arrow {
namespace {

constexpr const char* kKey = "ARROW:schema";

using TypePtr = std::shared_ptr<::arrow::DataType>;

TypePtr value_type(const TypePtr& type);

// Gives each field the type of its values. Returns whether one was of a dictionary.
bool make_values(::arrow::FieldVector& fields) {
  bool changed = false;
  for (auto& field : fields) {
    const TypePtr out = value_type(field->type());
    changed |= out != field->type();
    field = field->WithType(out);
  }
  return changed;
}

// The type with dictionary types replaced by their value types, at any depth.
TypePtr value_type(const TypePtr& type) {
  if (type->id() == ::arrow::Type::DICTIONARY) {
    return value_type(static_cast<const ::arrow::DictionaryType&>(*type).value_type());
  }
  ::arrow::FieldVector fields = type->fields();
  if (!make_values(fields)) return type;
  switch (type->id()) {
    case ::arrow::Type::STRUCT:
      return ::arrow::struct_(fields);
    case ::arrow::Type::LIST:
      return ::arrow::list(fields[0]);
    case ::arrow::Type::LARGE_LIST:
      return ::arrow::large_list(fields[0]);
    case ::arrow::Type::LIST_VIEW:
      return ::arrow::list_view(fields[0]);
    case ::arrow::Type::LARGE_LIST_VIEW:
      return ::arrow::large_list_view(fields[0]);
    case ::arrow::Type::FIXED_SIZE_LIST:
      return ::arrow::fixed_size_list(
          fields[0], static_cast<const ::arrow::FixedSizeListType&>(*type).list_size());
    case ::arrow::Type::MAP:
      return std::make_shared<::arrow::MapType>(
          fields[0], static_cast<const ::arrow::MapType&>(*type).keys_sorted());
    default:
      return type;
  }
}

// The serialized schema without dictionaries; the same text if it has none.
::arrow::Result<std::string> without_dictionaries(const std::string& text) {
  ARROW_ASSIGN_OR_RAISE(std::string bytes, ::arrow::util::base64_decode(text));
  ::arrow::io::BufferReader reader(::arrow::Buffer::FromString(std::move(bytes)));
  ::arrow::ipc::DictionaryMemo memo;
  ARROW_ASSIGN_OR_RAISE(const auto schema, ::arrow::ipc::ReadSchema(&reader, &memo));
  ::arrow::FieldVector fields = schema->fields();
  if (!make_values(fields)) return text;
  ARROW_ASSIGN_OR_RAISE(const auto out,
                        ::arrow::ipc::SerializeSchema(::arrow::Schema(fields, schema->metadata())));
  return ::arrow::util::base64_encode(static_cast<std::string_view>(*out));
}

}  // namespace

void read_dictionaries_as_values(const parquet::FileMetaData& metadata) {
  if (metadata.key_value_metadata() == nullptr) return;
  // The const_cast is safe, because FileMetaData created the object as non-const; it has no
  // function to change it. Arrow's own switch, ArrowReaderProperties::set_read_dictionary, does not
  // override the stored schema.
  auto& pairs = const_cast<::arrow::KeyValueMetadata&>(*metadata.key_value_metadata());
  const auto stored = pairs.Get(kKey);
  if (!stored.ok()) return;
  const auto text = without_dictionaries(*stored);
  if (text.ok() && *text != *stored) static_cast<void>(pairs.Set(kKey, *text));
}

}  // namespace rtrain::arrow
