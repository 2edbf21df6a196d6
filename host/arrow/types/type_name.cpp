#include "host/arrow/types/type_name.h"

#include <arrow/extension/fixed_shape_tensor.h>
#include <arrow/type.h>

#include <charconv>
#include <limits>
#include <map>
#include <optional>
#include <system_error>
#include <vector>

#include "host/base/error.h"
#include "host/base/text/text.h"

namespace rtrain::arrow {
namespace {

std::string numbers(const std::vector<int64_t>& list) {
  std::string out;
  for (const int64_t number : list) out += cat(out.empty() ? "" : ",", number);
  return cat("[", out, "]");
}

std::string tensor_name(const ::arrow::extension::FixedShapeTensorType& type) {
  std::vector<int64_t> shape = type.shape();
  for (size_t i = 0; i < type.permutation().size(); ++i) {
    shape[i] = type.shape()[static_cast<size_t>(type.permutation()[i])];
  }
  return cat("tensor<", type_name(*type.value_type()), ">", numbers(shape));
}

std::string struct_name(const ::arrow::DataType& type) {
  if (is_image(type)) return "image";
  std::string out;
  for (const auto& field : type.fields()) {
    out += cat(out.empty() ? "" : ", ", field->name(), ": ", type_name(*field->type()));
  }
  return cat("struct<", out, ">");
}

std::string extension_name(const ::arrow::DataType& type) {
  const auto* tensor = dynamic_cast<const ::arrow::extension::FixedShapeTensorType*>(&type);
  if (tensor != nullptr) return tensor_name(*tensor);
  return type_name(*static_cast<const ::arrow::ExtensionType&>(type).storage_type());
}

bool is_text(const ::arrow::DataType& type) {
  return type.id() == ::arrow::Type::STRING || type.id() == ::arrow::Type::LARGE_STRING ||
         type.id() == ::arrow::Type::STRING_VIEW;
}

bool is_bytes(const ::arrow::DataType& type) {
  return type.id() == ::arrow::Type::BINARY || type.id() == ::arrow::Type::LARGE_BINARY ||
         type.id() == ::arrow::Type::BINARY_VIEW;
}

const std::map<std::string, std::shared_ptr<::arrow::DataType>, std::less<>>& named_types() {
  using ::arrow::TimeUnit;
  static const auto* const types =
      new std::map<std::string, std::shared_ptr<::arrow::DataType>, std::less<>>{
          {"null", ::arrow::null()},
          {"bool", ::arrow::boolean()},
          {"int8", ::arrow::int8()},
          {"int16", ::arrow::int16()},
          {"int32", ::arrow::int32()},
          {"int64", ::arrow::int64()},
          {"uint8", ::arrow::uint8()},
          {"uint16", ::arrow::uint16()},
          {"uint32", ::arrow::uint32()},
          {"uint64", ::arrow::uint64()},
          {"float16", ::arrow::float16()},
          {"float32", ::arrow::float32()},
          {"float64", ::arrow::float64()},
          {"float", ::arrow::float32()},
          {"double", ::arrow::float64()},
          {"int", ::arrow::int32()},
          {"long", ::arrow::int64()},
          {"string", ::arrow::large_utf8()},
          {"binary", ::arrow::large_binary()},
          {"date32", ::arrow::date32()},
          {"date64", ::arrow::date64()},
          {"timestamp[s]", ::arrow::timestamp(TimeUnit::SECOND)},
          {"timestamp[ms]", ::arrow::timestamp(TimeUnit::MILLI)},
          {"timestamp[us]", ::arrow::timestamp(TimeUnit::MICRO)},
          {"timestamp[ns]", ::arrow::timestamp(TimeUnit::NANO)}};
  return *types;
}

}  // namespace

bool is_image(const ::arrow::DataType& type) {
  if (type.id() != ::arrow::Type::STRUCT || type.num_fields() != 2) return false;
  const auto& a = type.field(0);
  const auto& b = type.field(1);
  const auto fits = [](const ::arrow::Field& bytes, const ::arrow::Field& path) {
    return bytes.name() == "bytes" && path.name() == "path" && is_bytes(*bytes.type()) &&
           is_text(*path.type());
  };
  return fits(*a, *b) || fits(*b, *a);
}

std::string type_name(const ::arrow::DataType& type) {
  using ::arrow::Type;
  switch (type.id()) {
    case Type::HALF_FLOAT:
      return "float16";
    case Type::FLOAT:
      return "float32";
    case Type::DOUBLE:
      return "float64";
    case Type::STRING:
    case Type::LARGE_STRING:
    case Type::STRING_VIEW:
      return "string";
    case Type::BINARY:
    case Type::LARGE_BINARY:
    case Type::BINARY_VIEW:
    case Type::FIXED_SIZE_BINARY:
      return "binary";
    case Type::DATE32:
      return "date32";
    case Type::DATE64:
      return "date64";
    case Type::DICTIONARY:
      return type_name(*static_cast<const ::arrow::DictionaryType&>(type).value_type());
    case Type::LIST:
    case Type::LARGE_LIST:
    case Type::LIST_VIEW:
    case Type::LARGE_LIST_VIEW:
      return cat("list<", type_name(*type.field(0)->type()), ">");
    case Type::FIXED_SIZE_LIST:
      return cat("list<", type_name(*type.field(0)->type()), ">[",
                 static_cast<const ::arrow::FixedSizeListType&>(type).list_size(), "]");
    case Type::MAP: {
      const auto& map = static_cast<const ::arrow::MapType&>(type);
      return cat("map<", type_name(*map.key_type()), ", ", type_name(*map.item_type()), ">");
    }
    case Type::STRUCT:
      return struct_name(type);
    case Type::EXTENSION:
      return extension_name(type);
    default:
      return type.ToString();
  }
}

namespace {

// The sizes of "28,28"; nullopt if they are none.
std::optional<std::vector<int64_t>> sizes_from(std::string_view text) {
  std::vector<int64_t> out;
  int64_t total = 1;
  while (true) {
    int64_t size = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
    if (error != std::errc() || size < 1 || __builtin_mul_overflow(total, size, &total)) break;
    if (total > std::numeric_limits<int32_t>::max()) break;
    out.push_back(size);
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    if (text.empty()) return out;
    if (text[0] != ',') break;
    text.remove_prefix(1);
  }
  return std::nullopt;
}

// The type of "list<int64>", "list<int64>[3]" or "tensor<int64>[2,3]"; null for another text.
std::shared_ptr<::arrow::DataType> nested_from_name(std::string_view name, std::string_view what) {
  const size_t begin = name.find('<');
  const size_t end = name.rfind('>');
  if (begin == std::string_view::npos || end == std::string_view::npos || end < begin) return {};
  const std::string_view kind = name.substr(0, begin);
  const std::string_view rest = name.substr(end + 1);
  if (kind != "list" && kind != "tensor") return {};
  if (kind == "list" && rest.empty()) {
    return ::arrow::list(type_from_name(name.substr(begin + 1, end - begin - 1), what));
  }
  if (rest.size() < 2 || rest[0] != '[' || rest.back() != ']') return {};
  const auto sizes = sizes_from(rest.substr(1, rest.size() - 2));
  if (!sizes || (kind == "list" && sizes->size() != 1)) return {};
  const auto value = type_from_name(name.substr(begin + 1, end - begin - 1), what);
  if (kind == "list") return ::arrow::fixed_size_list(value, static_cast<int32_t>((*sizes)[0]));
  const auto tensor = ::arrow::extension::FixedShapeTensorType::Make(value, *sizes);
  return tensor.ok() ? *tensor : nullptr;
}

}  // namespace

std::shared_ptr<::arrow::DataType> type_from_name(std::string_view name, std::string_view what) {
  if (auto nested = nested_from_name(name, what)) return nested;
  const auto found = named_types().find(name);
  if (found != named_types().end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [known, type] : named_types()) names.push_back(known);
  throw Error(Code::kArgument, cat(what, ": unknown type '", name, "'", suggestion(name, names)));
}

}  // namespace rtrain::arrow
