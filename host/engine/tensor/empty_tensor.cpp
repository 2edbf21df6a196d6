#include "host/engine/tensor/empty_tensor.h"

#include <ATen/ops/empty.h>
#include <c10/core/Allocator.h>
#include <c10/core/Storage.h>
#include <c10/util/accumulate.h>

namespace rtrain::engine {

at::Tensor empty_tensor(at::IntArrayRef sizes, const at::TensorOptions& options) {
  return at::empty(sizes, options);
}

at::Tensor empty_tensor_behind(int64_t bytes, at::IntArrayRef sizes, at::ScalarType dtype) {
  constexpr int64_t kAlignment = 64;
  const int64_t front = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  const int64_t size =
      c10::multiply_integers(sizes) * static_cast<int64_t>(c10::elementSize(dtype));
  c10::Allocator* allocator = c10::GetAllocator(c10::kCPU);
  c10::DataPtr whole = allocator->allocate(static_cast<size_t>(front + size));
  const c10::DeleterFnPtr free = whole.get_deleter();
  char* values = static_cast<char*>(whole.get()) + front;
  c10::DataPtr behind(values, whole.release_context(), free, c10::Device(c10::kCPU));
  const c10::Storage storage(c10::Storage::use_byte_size_t(), size, std::move(behind), allocator,
                             /*resizable=*/true);
  at::Tensor out = at::empty({0}, at::TensorOptions().dtype(dtype));
  out.set_(storage, 0, sizes, {});
  return out;
}

}  // namespace rtrain::engine
