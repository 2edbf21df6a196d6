#include "host/engine/data/arrow/arrow_objects.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/base/text/utf8.h"
#include "host/engine/files/tree.h"
#include "host/engine/tensor/empty_tensor.h"

namespace rtrain::engine {
namespace {

// kEmpty is {}, which may be an empty list or an empty map.
enum class Kind : uint8_t {
  kNull,
  kBool,
  kInt,
  kUint,  // some values exceed int64
  kFloat,
  kText,
  kBinary,
  kEmpty,
  kList,
  kStruct
};

const char* kind_name(Kind kind) {
  constexpr const char* kNames[] = {"null",   "boolean", "integer", "integer", "number",
                                    "string", "string",  "{}",      "list",    "table"};
  return kNames[static_cast<size_t>(kind)];
}

struct ColumnType {
  Kind kind = Kind::kNull;
  std::unique_ptr<ColumnType> item;                           // for lists
  std::map<std::string, std::unique_ptr<ColumnType>> fields;  // for structs
};

std::optional<Kind> joined(Kind a, Kind b) {
  if (a > b) std::swap(a, b);
  if (a == b || a == Kind::kNull) return b;
  if (a >= Kind::kInt && b <= Kind::kFloat) return b;
  if (a == Kind::kText && b == Kind::kBinary) return b;
  if (a == Kind::kEmpty) return b;
  return std::nullopt;
}

Tree tensor_tree(const at::Tensor& tensor) {
  if (tensor.dim() == 0) {
    const at::Scalar item = tensor.item();
    if (item.isBoolean()) return item.toBool();
    if (item.type() == at::kUInt64 && item.toUInt64() > INT64_MAX) return item.toUInt64();
    if (item.isIntegral(false)) return item.toLong();
    return item.toDouble();
  }
  auto list = std::make_shared<TreeList>();
  for (int64_t i = 0; i < tensor.size(0); ++i) list->items.push_back(tensor_tree(tensor[i]));
  return list;
}

class Column {
 public:
  explicit Column(const std::string& name) : name_(name) {}

  // Widens the type until it also holds `value`. Replaces tensors in `value` by lists.
  void widen(ColumnType& type, Tree& value) {
    if (const auto* tensor = std::get_if<at::Tensor>(&value)) value = tensor_tree(tensor->cpu());
    const Kind kind = kind_of(value);
    const auto both = joined(type.kind, kind);
    if (!both) {
      fail(cat("a ", kind_name(kind), " where others are of type ", kind_name(type.kind)));
    }
    type.kind = *both;
    if (auto* list = std::get_if<std::shared_ptr<TreeList>>(&value)) {
      if (type.item == nullptr) type.item = std::make_unique<ColumnType>();
      for (Tree& item : (*list)->items) widen(*type.item, item);
    }
    if (auto* map = std::get_if<std::shared_ptr<TreeMap>>(&value)) widen_fields(type, **map);
  }

 private:
  [[noreturn]] void fail(std::string_view what) const {
    throw Error(Code::kArgument, cat("to_arrow: column '", name_, "': ", what));
  }

  void widen_fields(ColumnType& type, TreeMap& map) {
    for (auto& [key, item] : map.entries) {
      const auto* field = std::get_if<std::string>(&key);
      if (field == nullptr) fail("a table with integer keys that is not a list");
      auto& slot = type.fields[*field];
      if (slot == nullptr) slot = std::make_unique<ColumnType>();
      widen(*slot, item);
    }
  }

  Kind kind_of(const Tree& value) const {
    if (std::holds_alternative<std::monostate>(value)) return Kind::kNull;
    if (std::holds_alternative<bool>(value)) return Kind::kBool;
    if (std::holds_alternative<int64_t>(value)) return Kind::kInt;
    if (std::holds_alternative<uint64_t>(value)) return Kind::kUint;
    if (std::holds_alternative<double>(value)) return Kind::kFloat;
    if (const auto* text = std::get_if<std::string>(&value)) {
      return is_utf8(*text) ? Kind::kText : Kind::kBinary;
    }
    if (std::holds_alternative<std::shared_ptr<TreeList>>(value)) return Kind::kList;
    if (const auto* map = std::get_if<std::shared_ptr<TreeMap>>(&value)) {
      return (*map)->entries.empty() ? Kind::kEmpty : Kind::kStruct;
    }
    fail("complex numbers have no Arrow type");
  }

  const std::string& name_;
};

using Trees = std::vector<const Tree*>;

const Tree kNothing;

bool is_null(const Tree* value) { return std::holds_alternative<std::monostate>(*value); }

at::Tensor new_tensor(int64_t size, at::ScalarType dtype) {
  return empty_tensor({size}, at::TensorOptions().dtype(dtype));
}

at::Tensor validity(const Trees& values, ArrowNode& node) {
  at::Tensor valid = new_tensor(node.length, at::kBool);
  bool* data = valid.mutable_data_ptr<bool>();
  for (size_t i = 0; i < values.size(); ++i) {
    data[i] = !is_null(values[i]);
    node.null_count += data[i] ? 0 : 1;
  }
  return node.null_count == 0 ? at::Tensor() : pack_bits(valid);
}

void fill(const ColumnType& type, const Trees& values, ArrowNode& node);

double number(const Tree& value) {
  if (const auto* integer = std::get_if<int64_t>(&value)) return static_cast<double>(*integer);
  if (const auto* large = std::get_if<uint64_t>(&value)) return static_cast<double>(*large);
  return std::get<double>(value);
}

uint64_t unsigned_number(const Tree& value) {
  const auto* integer = std::get_if<int64_t>(&value);
  if (integer == nullptr) return std::get<uint64_t>(value);
  if (*integer >= 0) return static_cast<uint64_t>(*integer);
  throw Error(Code::kArgument, cat("to_arrow: ", *integer, " next to integers beyond int64"));
}

template <class T, class Read>
at::Tensor scalars(const Trees& values, at::ScalarType dtype, const Read& read) {
  at::Tensor out = new_tensor(static_cast<int64_t>(values.size()), dtype);
  T* data = out.mutable_data_ptr<T>();
  for (size_t i = 0; i < values.size(); ++i) data[i] = is_null(values[i]) ? T() : read(*values[i]);
  return out;
}

void fill_strings(const Trees& values, ArrowNode& node) {
  at::Tensor offsets = new_tensor(node.length + 1, at::kLong);
  auto* ends = offsets.mutable_data_ptr<int64_t>();
  *ends = 0;
  for (const Tree* value : values) {
    const auto* text = std::get_if<std::string>(value);
    ends[1] = ends[0] + (text == nullptr ? 0 : static_cast<int64_t>(text->size()));
    ++ends;
  }
  at::Tensor bytes = new_tensor(*ends, at::kByte);
  auto* to = static_cast<char*>(bytes.mutable_data_ptr());
  for (const Tree* value : values) {
    const auto* text = std::get_if<std::string>(value);
    if (text != nullptr) to = std::copy(text->begin(), text->end(), to);
  }
  node.buffers.push_back(offsets);
  node.buffers.push_back(bytes);
}

void fill_lists(const ColumnType& type, const Trees& values, ArrowNode& node) {
  at::Tensor offsets = new_tensor(node.length + 1, at::kLong);
  auto* ends = offsets.mutable_data_ptr<int64_t>();
  Trees items;
  *ends++ = 0;
  for (const Tree* value : values) {
    if (const auto* list = std::get_if<std::shared_ptr<TreeList>>(value)) {
      for (const Tree& item : (*list)->items) items.push_back(&item);
    }
    *ends++ = static_cast<int64_t>(items.size());
  }
  node.buffers.push_back(offsets);
  ArrowNode* child = node.add_child("item", "", static_cast<int64_t>(items.size()));
  const ColumnType nothing;
  fill(type.item == nullptr ? nothing : *type.item, items, *child);
}

void fill_fields(const ColumnType& type, const Trees& values, ArrowNode& node) {
  for (const auto& [name, field] : type.fields) {
    Trees items;
    for (const Tree* value : values) {
      const auto* map = std::get_if<std::shared_ptr<TreeMap>>(value);
      const Tree* item = &kNothing;
      for (size_t i = 0; map != nullptr && i < (*map)->entries.size(); ++i) {
        const auto& entry = (*map)->entries[i];
        if (std::get<std::string>(entry.first) == name) item = &entry.second;
      }
      items.push_back(item);
    }
    fill(*field, items, *node.add_child(name, "", node.length));
  }
}

void fill(const ColumnType& type, const Trees& values, ArrowNode& node) {
  constexpr const char* kFormats[] = {"n", "b", "l", "L", "g", "U", "Z", "+L", "+L", "+s"};
  node.format = kFormats[static_cast<size_t>(type.kind)];
  node.length = static_cast<int64_t>(values.size());
  if (type.kind == Kind::kNull) {
    node.null_count = node.length;
    return;
  }
  node.buffers.push_back(validity(values, node));
  switch (type.kind) {
    case Kind::kBool:
      return node.buffers.push_back(pack_bits(scalars<bool>(
          values, at::kBool, [](const Tree& value) { return std::get<bool>(value); })));
    case Kind::kInt:
      return node.buffers.push_back(scalars<int64_t>(
          values, at::kLong, [](const Tree& value) { return std::get<int64_t>(value); }));
    case Kind::kUint:
      return node.buffers.push_back(scalars<uint64_t>(values, at::kUInt64, unsigned_number));
    case Kind::kFloat:
      return node.buffers.push_back(scalars<double>(values, at::kDouble, number));
    case Kind::kText:
    case Kind::kBinary:
      return fill_strings(values, node);
    case Kind::kStruct:
      return fill_fields(type, values, node);
    default:
      return fill_lists(type, values, node);
  }
}

}  // namespace

void fill_objects(lua_State* L, int index, const std::string& name, ArrowNode& node) {
  lua_getfield(L, index, "n");
  const auto count = static_cast<int64_t>(lua_tonumber(L, -1));
  lua_pop(L, 1);
  lua_getfield(L, index, "values");
  if (lua_type(L, -1) != LUA_TTABLE || count < 0) {
    throw Error(Code::kArgument,
                cat("to_arrow: column '", name, "': objects need values, a list, and n, its rows"));
  }
  const int list = lua_gettop(L);
  std::vector<Tree> trees;
  ColumnType type;
  Column column(name);
  for (int64_t i = 0; i < count; ++i) {
    lua_rawgeti(L, list, static_cast<int>(i) + 1);
    trees.push_back(to_tree(L, -1, cat("to_arrow: column '", name, "', row ", i)));
    lua_pop(L, 1);
    column.widen(type, trees.back());
  }
  lua_pop(L, 1);
  Trees values;
  for (const Tree& tree : trees) values.push_back(&tree);
  fill(type, values, node);
}

}  // namespace rtrain::engine
