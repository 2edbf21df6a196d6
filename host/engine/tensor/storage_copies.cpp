// _copy_with_storage: copies tensors so that the copies share memory as the originals do.
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

#include "host/engine/memory/retry.h"
#include "host/engine/runtime/guard.h"
#include "host/engine/runtime/open.h"
#include "host/engine/tensor/tensor.h"

namespace rtrain::engine {
namespace {

at::Tensor view_of(const at::Tensor& like, const c10::Storage& storage, int64_t offset,
                   at::IntArrayRef sizes, at::IntArrayRef strides) {
  return at::empty({0}, like.options()).set_(storage, offset, sizes, strides);
}

at::Tensor bytes_of(const at::Tensor& tensor) {
  const c10::Storage& storage = tensor.storage();
  const auto size = static_cast<int64_t>(storage.nbytes());
  const at::Tensor bytes = at::empty({0}, tensor.options().dtype(at::kByte));
  return bytes.set_(storage, 0, {size}, {1});
}

// _copy_with_storage(tensor, copies): a tensor of the same sizes, strides and offset in a copy of
// the whole storage, without gradient. The table `copies` has the storages copied so far, so that
// tensors that share a storage share its copy too. A tensor without strided storage (sparse) is
// cloned.
int copy_with_storage(lua_State* L) {
  lua_settop(L, 2);
  const at::Tensor source = check_tensor(L, 1).detach();
  if (source.layout() != at::kStrided || !source.has_storage() || source.is_meta() ||
      source.is_quantized()) {
    push_tensor(L, with_retry(vm(L), L, "deepcopy", [&] { return source.clone(); }));
    return 1;
  }
  lua_pushlightuserdata(L, source.storage().unsafeGetStorageImpl());
  lua_rawget(L, 2);
  if (lua_isnil(L, -1)) {
    lua_pushlightuserdata(L, source.storage().unsafeGetStorageImpl());
    push_tensor(L, with_retry(vm(L), L, "deepcopy", [&] { return bytes_of(source).clone(); }));
    lua_pushvalue(L, -1);
    lua_insert(L, -3);
    lua_rawset(L, 2);
  }
  at::Tensor out = view_of(source, check_tensor(L, -1).storage(), source.storage_offset(),
                           source.sizes(), source.strides());
  out._set_conj(source.is_conj());
  out._set_neg(source.is_neg());
  push_tensor(L, std::move(out));
  return 1;
}

constexpr lua::Method kFunctions[] = {torch_method<&copy_with_storage>("_copy_with_storage")};

}  // namespace

void open_storage_copies(lua_State* L) { lua::add_functions(L, kFunctions); }

}  // namespace rtrain::engine
