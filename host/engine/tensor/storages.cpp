// _storage_nbytes, _storage_ptr and _storage_resize: the storage of a tensor, which its views
// share.
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <c10/core/StorageImpl.h>

#include <algorithm>
#include <utility>

#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/engine/memory/retry.h"
#include "host/engine/runtime/guard.h"
#include "host/engine/runtime/open.h"
#include "host/engine/runtime/scalars.h"
#include "host/engine/tensor/tensor.h"

namespace rtrain::engine {
namespace {

at::Tensor check_stored(lua_State* L) {
  const at::Tensor& tensor = check_tensor(L, 1);
  if (tensor.layout() == at::kStrided && tensor.has_storage()) return tensor;
  throw Error(Code::kUnsupported,
              cat("storage: a tensor of ", describe(tensor), " has no storage of its own"));
}

int storage_nbytes(lua_State* L) {
  push_int(L, static_cast<int64_t>(check_stored(L).storage().nbytes()));
  return 1;
}

int storage_ptr(lua_State* L) {
  push_int(L, static_cast<int64_t>(reinterpret_cast<intptr_t>(check_stored(L).storage().data())));
  return 1;
}

// New memory of that size with the storage's bytes, as far as they fit.
at::Tensor resized(const at::Tensor& tensor, int64_t size) {
  const c10::Storage& storage = tensor.storage();
  const at::TensorOptions options = at::TensorOptions().dtype(at::kByte).device(tensor.device());
  at::Tensor out = at::empty({size}, options);
  const int64_t kept = std::min(size, static_cast<int64_t>(storage.nbytes()));
  if (kept > 0) {
    const at::Tensor bytes = at::empty({0}, options).set_(storage, 0, {kept}, {1});
    out.narrow(0, 0, kept).copy_(bytes);
  }
  return out;
}

// _storage_resize(tensor, nbytes): all tensors on this storage keep their sizes. LibTorch's kernels
// do not check that the storage is large enough.
int storage_resize(lua_State* L) {
  const at::Tensor tensor = check_stored(L).detach();
  const auto size = to_int(L, 2);
  if (!size || *size < 0) {
    throw Error(Code::kArgument,
                cat("resize_: expected a number of bytes from 0 on, got ", describe_value(L, 2)));
  }
  c10::StorageImpl* storage = tensor.storage().unsafeGetStorageImpl();
  if (!storage->resizable()) {
    throw Error(Code::kUnsupported,
                "resize_: the memory of this storage belongs to something else (a file, a string, "
                "another process): use x:clone()");
  }
  if (*size == static_cast<int64_t>(storage->nbytes())) return 0;
  const at::Tensor fresh = with_retry(vm(L), L, "resize_", [&] { return resized(tensor, *size); });
  storage->set_data_ptr_noswap(
      fresh.storage().set_data_ptr(c10::DataPtr(nullptr, tensor.device())));
  storage->set_nbytes(static_cast<size_t>(*size));
  return 0;
}

constexpr lua::Method kFunctions[] = {torch_method<&storage_nbytes>("_storage_nbytes"),
                                      torch_method<&storage_ptr>("_storage_ptr"),
                                      torch_method<&storage_resize>("_storage_resize")};

}  // namespace

void open_storages(lua_State* L) { lua::add_functions(L, kFunctions); }

}  // namespace rtrain::engine
