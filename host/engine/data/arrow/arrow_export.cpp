#include "host/engine/data/arrow/arrow_export.h"

#include <ATen/ops/zeros.h>

#include <utility>
#include <vector>

#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/engine/data/arrow/arrow_node.h"
#include "host/engine/data/arrow/arrow_objects.h"
#include "host/engine/runtime/dtype.h"
#include "host/engine/tensor/tensor.h"

namespace rtrain::engine {
namespace {

using NodePtr = std::shared_ptr<ArrowNode>;

[[noreturn]] void fail(const std::string& name, std::string_view what) {
  throw Error(Code::kArgument, cat("to_arrow: column '", name, "': ", what));
}

const char* format_of(at::ScalarType dtype) {
  switch (dtype) {
    case at::kBool:
      return "b";
    case at::kChar:
      return "c";
    case at::kByte:
      return "C";
    case at::kShort:
      return "s";
    case at::kUInt16:
      return "S";
    case at::kInt:
      return "i";
    case at::kUInt32:
      return "I";
    case at::kLong:
      return "l";
    case at::kUInt64:
      return "L";
    case at::kHalf:
      return "e";
    case at::kFloat:
      return "f";
    case at::kDouble:
      return "g";
    default:
      return nullptr;
  }
}

at::Tensor plain_memory(const at::Tensor& tensor) {
  at::Tensor out = tensor.detach().cpu();
  if (out.scalar_type() == at::kBFloat16) out = out.to(at::kFloat);  // Arrow has no bfloat16
  return out.contiguous();
}

void fill_numbers(ArrowNode& node, const at::Tensor& values) {
  const bool bits = values.scalar_type() == at::kBool;
  node.buffers = {at::Tensor(), bits ? pack_bits(values) : values};
}

void tensor_column(const at::Tensor& given, api::ArrowColumn& column, ArrowNode& node) {
  if (given.dim() == 0) fail(column.name, "a tensor without dimensions has no rows");
  if (given.layout() != at::kStrided) fail(column.name, "only dense tensors can be written");
  const at::Tensor values = plain_memory(given);
  const char* format = format_of(values.scalar_type());
  if (format == nullptr) {
    fail(column.name, cat("Arrow has no type for ", dtype_name(values.scalar_type())));
  }
  node.length = values.size(0);
  if (values.dim() == 1) {
    node.format = std::string(format);
    return fill_numbers(node, values);
  }
  column.shape = values.sizes().slice(1).vec();
  int64_t size = 1;
  for (const int64_t dim : column.shape) size *= dim;
  node.format = cat("+w:", size);
  node.buffers = {at::Tensor()};
  fill_numbers(*node.add_child("item", format, values.numel()), values);
}

at::Tensor field_tensor(lua_State* L, int index, const std::string& name, const char* field,
                        at::ScalarType dtype) {
  lua_getfield(L, index, field);
  const at::Tensor* found = test_tensor(L, -1);
  if (found == nullptr || found->dim() != 1 || found->scalar_type() != dtype) {
    fail(name, cat(std::string_view(field), ": expected a ", dtype_name(dtype),
                   " tensor of one dimension, got ", describe_value(L, -1)));
  }
  at::Tensor out = plain_memory(*found);
  lua_pop(L, 1);
  return out;
}

// The bitmap of the field `valid`; undefined if the field is absent.
at::Tensor field_valid(lua_State* L, int index, const std::string& name, ArrowNode& node) {
  lua_getfield(L, index, "valid");
  const bool absent = lua_isnil(L, -1);
  lua_pop(L, 1);
  if (absent) return {};
  const at::Tensor valid = field_tensor(L, index, name, "valid", at::kBool);
  if (valid.numel() != node.length) {
    fail(name, cat("valid has ", valid.numel(), " rows, the column ", node.length));
  }
  node.null_count = node.length - valid.sum().item<int64_t>();
  return pack_bits(valid);
}

void check_offsets(const at::Tensor& offsets, int64_t size, const std::string& name) {
  if (offsets.numel() == 0) fail(name, "offsets has to hold one number more than there are rows");
  const int64_t* data = offsets.const_data_ptr<int64_t>();
  int64_t last = 0;
  for (int64_t i = 0; i < offsets.numel(); ++i) {
    if (data[i] < last || data[i] > size) {
      fail(name, cat("offsets[", i, "] is ", data[i], ": offsets rise from 0 to the ", size,
                     " bytes there are"));
    }
    last = data[i];
  }
}

void bytes_column(lua_State* L, int index, const std::string& name, bool text, ArrowNode& node) {
  const at::Tensor offsets = field_tensor(L, index, name, "offsets", at::kLong);
  const at::Tensor bytes = field_tensor(L, index, name, "bytes", at::kByte);
  check_offsets(offsets, bytes.numel(), name);
  node.format = std::string(1, text ? 'U' : 'Z');
  node.length = offsets.numel() - 1;
  node.buffers = {field_valid(L, index, name, node), offsets, bytes};
}

// A column of kind 'masked': a tensor of one dimension, and which of its rows are not null.
void masked_column(lua_State* L, int index, api::ArrowColumn& column, ArrowNode& node) {
  lua_getfield(L, index, "values");
  const at::Tensor* values = test_tensor(L, -1);
  if (values == nullptr || values->dim() != 1) {
    fail(column.name,
         cat("values: expected a tensor of one dimension, got ", describe_value(L, -1)));
  }
  tensor_column(*values, column, node);
  lua_pop(L, 1);
  node.buffers[0] = field_valid(L, index, column.name, node);
}

// A column of kind 'image': a struct of bytes and of a path that is always null.
void image_column(lua_State* L, int index, const std::string& name, ArrowNode& node) {
  auto bytes = std::make_unique<ArrowNode>();
  bytes_column(L, index, name, /*text=*/false, *bytes);
  bytes->name = "bytes";
  node.format = std::string("+s");
  node.length = bytes->length;
  node.null_count = std::exchange(bytes->null_count, 0);
  node.buffers = {std::exchange(bytes->buffers[0], at::Tensor())};
  node.children.push_back(std::move(bytes));
  ArrowNode* path = node.add_child("path", "u", node.length);
  path->null_count = node.length;
  const auto options = at::TensorOptions().dtype(at::kInt);
  path->buffers = {at::zeros({(node.length + 7) / 8}, options.dtype(at::kByte)),
                   at::zeros({node.length + 1}, options), at::Tensor()};
}

void table_column(lua_State* L, int index, api::ArrowColumn& column, ArrowNode& node) {
  lua_getfield(L, index, "kind");
  const std::string kind = lua_isstring(L, -1) != 0 ? lua_tostring(L, -1) : "";
  lua_pop(L, 1);
  if (kind == "strings") return bytes_column(L, index, column.name, /*text=*/true, node);
  if (kind == "binary") return bytes_column(L, index, column.name, /*text=*/false, node);
  if (kind == "image") return image_column(L, index, column.name, node);
  if (kind == "masked") return masked_column(L, index, column, node);
  if (kind == "objects") return fill_objects(L, index, column.name, node);
  fail(column.name,
       cat("kind '", kind, "': expected 'strings', 'binary', 'image', 'masked' or 'objects'"));
}

}  // namespace

std::shared_ptr<api::ArrowColumn> to_arrow_column(lua_State* L, int index,
                                                  const std::string& name) {
  auto out = std::make_shared<api::ArrowColumn>();
  out->name = name;
  auto node = std::make_shared<ArrowNode>();
  node->name = name;
  if (test_tensor(L, index) != nullptr) {
    tensor_column(check_tensor(L, index), *out, *node);
  } else if (lua_type(L, index) == LUA_TTABLE) {
    table_column(L, index, *out, *node);
  } else {
    fail(name, cat("expected a tensor or a table with 'kind', got ", describe_value(L, index)));
  }
  export_node(node, &out->schema, &out->array);
  return out;
}

}  // namespace rtrain::engine
