#include "host/engine/data/arrow/arrow_values.h"

#include <c10/util/Half.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/engine/files/tree.h"

namespace rtrain::engine {
namespace {

template <class T>
T read(const ArrowView& view, int64_t i) {
  T out;
  std::memcpy(&out, static_cast<const char*>(view.values(sizeof(T))) + i * sizeof(T), sizeof(T));
  return out;
}

Tree number(const ArrowView& view, int64_t i) {
  switch (view.format().front()) {
    case 'c':
      return int64_t{read<int8_t>(view, i)};
    case 'C':
      return int64_t{read<uint8_t>(view, i)};
    case 's':
      return int64_t{read<int16_t>(view, i)};
    case 'S':
      return int64_t{read<uint16_t>(view, i)};
    case 'i':
      return int64_t{read<int32_t>(view, i)};
    case 'I':
      return int64_t{read<uint32_t>(view, i)};
    case 'l':
      return read<int64_t>(view, i);
    case 'L': {
      const auto value = read<uint64_t>(view, i);
      if (value >> 63 == 0) return static_cast<int64_t>(value);
      return value;
    }
    case 'e':
      return static_cast<double>(read<c10::Half>(view, i));
    case 'f':
      return double{read<float>(view, i)};
    default:
      return read<double>(view, i);
  }
}

Tree value(const ArrowView& view, int64_t i);

Tree list(const ArrowView& items) {
  auto out = std::make_shared<TreeList>();
  out->items.reserve(static_cast<size_t>(items.size()));
  for (int64_t i = 0; i < items.size(); ++i) out->items.push_back(value(items, i));
  return out;
}

Tree table(const ArrowView& view, int64_t row) {
  auto out = std::make_shared<TreeMap>();
  for (int64_t i = 0; i < view.num_children(); ++i) {
    const ArrowView field = view.child(i);
    Tree item = value(field, row);
    if (!std::holds_alternative<std::monostate>(item)) {
      out->entries.emplace_back(std::string(field.name()), std::move(item));
    }
  }
  return out;
}

Tree value(const ArrowView& view, int64_t i) {
  if (!view.is_valid(i)) return {};
  if (view.format() == "b") return view.bit(i);
  if (arrow_dtype(view.format())) return number(view, i);
  if (view.is_text() || view.is_bytes()) {
    const int64_t begin = view.offset(i);
    return std::string(view.bytes() + begin, static_cast<size_t>(view.offset(i + 1) - begin));
  }
  if (view.is_list() || view.list_size() >= 0) return list(view.list_items(i, 1));
  if (view.is_struct()) return table(view, i);
  view.fail(cat("format '", view.format(), "'"));
}

// Checks all rows once, so that reading a row needs no check.
void check_values(const ArrowView& view) {
  if (view.is_text() || view.is_bytes() || view.is_list()) view.check_offsets();
  if (view.format() == "b" || arrow_dtype(view.format())) view.values(0);
  if (view.list_size() >= 0) view.list_items(0, view.size());
  for (int64_t i = 0; i < view.num_children(); ++i) check_values(view.child(i));
}

}  // namespace

std::optional<at::ScalarType> arrow_dtype(std::string_view format) {
  constexpr std::pair<char, at::ScalarType> kTypes[] = {
      {'c', at::kChar}, {'C', at::kByte},   {'s', at::kShort}, {'S', at::kUInt16},
      {'i', at::kInt},  {'I', at::kUInt32}, {'l', at::kLong},  {'L', at::kUInt64},
      {'e', at::kHalf}, {'f', at::kFloat},  {'g', at::kDouble}};
  if (format.size() != 1) return std::nullopt;
  const auto* found = std::find_if(std::begin(kTypes), std::end(kTypes),
                                   [&](const auto& type) { return type.first == format.front(); });
  if (found == std::end(kTypes)) return std::nullopt;
  return found->second;
}

void push_objects(lua_State* L, const ArrowView& view) {
  check_values(view);
  lua_createtable(L, 0, 3);
  push_tree(L, list(view));
  for (int64_t i = 0; i < view.size(); ++i) {
    if (view.is_valid(i)) continue;
    lua_pushnil(L);
    lua_rawseti(L, -2, static_cast<int>(i) + 1);
  }
  lua_setfield(L, -2, "values");
  lua_pushliteral(L, "objects");
  lua_setfield(L, -2, "kind");
  lua_pushnumber(L, static_cast<double>(view.size()));
  lua_setfield(L, -2, "n");
}

}  // namespace rtrain::engine
