// torch._C.data.pack and similar functions: values and tensors as bytes, for other ranks.
#include <ATen/ops/empty.h>

#include <array>
#include <cstring>

#include "host/engine/data/packed_tree.h"
#include "host/engine/runtime/guard.h"
#include "host/engine/runtime/lua_tensor.h"
#include "host/engine/runtime/open.h"

namespace rtrain::engine {
namespace {

at::Tensor bytes_tensor(size_t size) {
  return at::empty({static_cast<int64_t>(size)}, at::TensorOptions().dtype(at::kByte));
}

// Pushes the unpacked value. Its tensors share the memory of `bytes`.
void push_packed(lua_State* L, const at::Tensor& bytes) {
  const std::string_view view(static_cast<const char*>(bytes.const_data_ptr()), bytes.nbytes());
  push_tree(L, unpack_tree(view, std::make_shared<at::Tensor>(bytes)));
}

// pack(value) → bytes
int pack(lua_State* L) {
  const PackedTree packed(to_tree(L, 1, "value"));
  std::string out;
  out.reserve(packed.size());
  packed.write([&out](std::string_view piece) { out += piece; });
  lua_pushlstring(L, out.data(), out.size());
  return 1;
}

// unpack(bytes) → value
int unpack(lua_State* L) {
  size_t size = 0;
  const char* data = luaL_checklstring(L, 1, &size);
  const at::Tensor bytes = bytes_tensor(size);
  std::memcpy(bytes.mutable_data_ptr(), data, size);
  push_packed(L, bytes);
  return 1;
}

// pack_tensor(value) → uint8 tensor of the same bytes
int pack_tensor(lua_State* L) {
  const PackedTree packed(to_tree(L, 1, "value"));
  const at::Tensor out = bytes_tensor(packed.size());
  auto* next = static_cast<char*>(out.mutable_data_ptr());
  packed.write([&next](std::string_view piece) {
    std::memcpy(next, piece.data(), piece.size());
    next += piece.size();
  });
  push_tree(L, out);
  return 1;
}

// unpack_tensor(tensor) → value, whose tensors share the memory of `tensor`
int unpack_tensor(lua_State* L) {
  push_packed(L, check_tensor(L, 1).contiguous());
  return 1;
}

}  // namespace

void open_packed_values(lua_State* L) {
  static constexpr std::array kFunctions = {
      torch_method<&pack>("pack"), torch_method<&unpack>("unpack"),
      torch_method<&pack_tensor>("pack_tensor"), torch_method<&unpack_tensor>("unpack_tensor")};
  lua_getfield(L, -1, "data");
  lua::add_functions(L, kFunctions);
  lua_pop(L, 1);
}

}  // namespace rtrain::engine
