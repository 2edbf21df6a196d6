#include "host/engine/data/arrow/arrow_import.h"

#include <ATen/ops/from_blob.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/engine/data/arrow/arrow_array.h"
#include "host/engine/data/arrow/arrow_values.h"
#include "host/engine/memory/allocator.h"
#include "host/engine/tensor/empty_tensor.h"
#include "host/engine/tensor/tensor.h"

namespace rtrain::engine {
namespace {

using Column = std::shared_ptr<api::ArrowColumn>;

at::Tensor new_tensor(at::IntArrayRef sizes, at::ScalarType dtype) {
  return empty_tensor(sizes, at::TensorOptions().dtype(dtype));
}

// A tensor that shares the column's memory and keeps the column alive.
at::Tensor borrow(const Column& column, const void* data, at::IntArrayRef sizes,
                  at::ScalarType dtype) {
  const auto width = static_cast<int64_t>(c10::elementSize(dtype));
  int64_t bytes = width;
  for (const int64_t size : sizes) bytes *= size;
  if (bytes == 0) return new_tensor(sizes, dtype);
  if (reinterpret_cast<uintptr_t>(data) % static_cast<uintptr_t>(width) != 0) {
    at::Tensor copy = new_tensor(sizes, dtype);
    std::memcpy(copy.mutable_data_ptr(), data, static_cast<size_t>(bytes));
    return copy;
  }
  note_foreign_bytes(bytes);
  return at::from_blob(
      const_cast<void*>(data), sizes, [column, bytes](void*) { note_foreign_bytes(-bytes); },
      at::TensorOptions().dtype(dtype));
}

at::Tensor valid_rows(const ArrowView& view) {
  at::Tensor out = new_tensor({view.size()}, at::kBool);
  bool* valid = out.mutable_data_ptr<bool>();
  for (int64_t i = 0; i < view.size(); ++i) valid[i] = view.is_valid(i);
  return out;
}

at::Tensor booleans(const ArrowView& view) {
  at::Tensor out = new_tensor({view.size()}, at::kBool);
  view.values(0);  // throws if there are no values
  bool* data = out.mutable_data_ptr<bool>();
  for (int64_t i = 0; i < view.size(); ++i) data[i] = view.bit(i);
  return out;
}

at::Tensor with_nan(const ArrowView& view, at::ScalarType dtype) {
  at::Tensor values = at::from_blob(const_cast<void*>(view.values(c10::elementSize(dtype))),
                                    {view.size()}, at::TensorOptions().dtype(dtype));
  return values.masked_fill(valid_rows(view).logical_not_(),
                            std::numeric_limits<double>::quiet_NaN());
}

// All values of a column of numbers or booleans. nullopt for other types, and for integers and
// booleans with nulls.
std::optional<at::Tensor> flat_tensor(const Column& column, const ArrowView& view) {
  const bool bits = view.format() == "b";
  const auto dtype = arrow_dtype(view.format());
  if (!bits && !dtype) return std::nullopt;
  if (view.has_nulls()) {
    if (bits || !c10::isFloatingType(*dtype)) return std::nullopt;
    return with_nan(view, *dtype);
  }
  if (bits) return booleans(view);
  return borrow(column, view.values(c10::elementSize(*dtype)), {view.size()}, *dtype);
}

// The values, with 0 for null rows instead of whatever the file has there.
at::Tensor with_zeros(const ArrowView& view, at::ScalarType dtype) {
  const size_t width = c10::elementSize(dtype);
  at::Tensor out = new_tensor({view.size()}, dtype);
  const auto* from = static_cast<const char*>(view.values(width));
  auto* to = static_cast<char*>(out.mutable_data_ptr());
  for (int64_t i = 0; i < view.size(); ++i, from += width, to += width) {
    if (view.is_valid(i)) {
      std::memcpy(to, from, width);
    } else {
      std::memset(to, 0, width);
    }
  }
  return out;
}

// Gives each row its logical shape, with dimensions in the user's order.
at::Tensor shaped(const Column& column, const ArrowView& view, at::Tensor flat) {
  std::vector<int64_t> sizes = column->shape;
  std::vector<int64_t> order{0};
  for (const int64_t dim : column->permutation) order.push_back(dim + 1);
  sizes.insert(sizes.begin(), view.size());
  flat = flat.view(sizes);
  return column->permutation.empty() ? flat : flat.permute(order);
}

// Fixed-size lists of numbers; nullopt if a list is null.
std::optional<at::Tensor> fixed_lists(const Column& column, const ArrowView& view) {
  int64_t wanted = 1;
  for (const int64_t size : column->shape) {
    if (size < 0 || __builtin_mul_overflow(wanted, size, &wanted)) view.fail("its shape");
  }
  if (column->shape.empty() || wanted != view.list_size() || view.has_nulls()) return std::nullopt;
  if (!column->permutation.empty() && column->permutation.size() != column->shape.size()) {
    view.fail("its permutation");
  }
  const ArrowView items = view.list_items(0, view.size());
  const auto flat = flat_tensor(column, items);
  if (!flat) return std::nullopt;
  return shaped(column, view, *flat);
}

void set_tensor(lua_State* L, const char* name, at::Tensor tensor) {
  push_tensor(L, std::move(tensor));
  lua_setfield(L, -2, name);
}

// Pushes {kind =, offsets =, bytes =, valid =}.
void push_bytes(lua_State* L, const Column& column, const ArrowView& view, const char* kind,
                const ArrowView& valid) {
  at::Tensor offsets = new_tensor({view.size() + 1}, at::kLong);
  auto* data = offsets.mutable_data_ptr<int64_t>();
  view.copy_offsets(data);
  const int64_t size = data[view.size()];
  const char* bytes = size == 0 ? nullptr : view.bytes() + view.offset(0);
  lua_createtable(L, 0, 4);
  lua_pushstring(L, kind);
  lua_setfield(L, -2, "kind");
  set_tensor(L, "offsets", offsets);
  set_tensor(L, "bytes", borrow(column, bytes, {size}, at::kByte));
  if (valid.has_nulls()) set_tensor(L, "valid", valid_rows(valid));
}

// Pushes {kind = 'masked', values =, valid =} for integers or booleans with nulls.
bool push_masked(lua_State* L, const ArrowView& view) {
  const bool bits = view.format() == "b";
  const auto dtype = arrow_dtype(view.format());
  if (!bits && !dtype) return false;
  const at::Tensor valid = valid_rows(view);
  lua_createtable(L, 0, 3);
  lua_pushliteral(L, "masked");
  lua_setfield(L, -2, "kind");
  set_tensor(L, "values", bits ? booleans(view).logical_and_(valid) : with_zeros(view, *dtype));
  set_tensor(L, "valid", valid);
  return true;
}

// For a struct of exactly `bytes` and `path`: the index of the child `bytes`; else -1.
int64_t image_bytes(const ArrowView& view) {
  if (!view.is_struct() || view.num_children() != 2) return -1;
  for (int64_t i = 0; i < 2; ++i) {
    const ArrowView bytes = view.child(i);
    const ArrowView path = view.child(1 - i);
    if (bytes.name() == "bytes" && bytes.is_bytes() && path.name() == "path" && path.is_text()) {
      return i;
    }
  }
  return -1;
}

bool push_image(lua_State* L, const Column& column, const ArrowView& view) {
  const int64_t child = image_bytes(view);
  if (child < 0) return false;
  const ArrowView bytes = view.child(child);
  push_bytes(L, column, bytes, "image", view.has_nulls() ? view : bytes);
  return true;
}

}  // namespace

void push_arrow_column(lua_State* L, const Column& column) {
  const ArrowView view(column->schema, column->array, column->name);
  auto tensor = view.list_size() >= 0 ? fixed_lists(column, view) : flat_tensor(column, view);
  if (tensor) return push_tensor(L, std::move(*tensor));
  if (view.is_text()) return push_bytes(L, column, view, "strings", view);
  if (view.is_bytes()) return push_bytes(L, column, view, "binary", view);
  if (push_image(L, column, view) || push_masked(L, view)) return;
  push_objects(L, view);
}

}  // namespace rtrain::engine
