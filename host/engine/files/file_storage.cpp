#include "host/engine/files/file_storage.h"

#include <c10/core/CPUAllocator.h>
#include <c10/util/Exception.h>

#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/engine/tensor/empty_tensor.h"

namespace rtrain::engine {
namespace {

using Mapping = std::shared_ptr<char>;

c10::Storage mapped_storage(const Mapping& mapping, uint64_t offset, size_t size) {
  c10::DataPtr data(
      mapping.get() + offset, new Mapping(mapping),
      [](void* context) { delete static_cast<Mapping*>(context); }, c10::Device(c10::kCPU));
  return c10::Storage(c10::Storage::use_byte_size_t(), size, std::move(data));
}

}  // namespace

c10::Storage file_storage(const ByteSource& source, uint64_t offset, size_t size,
                          size_t alignment) {
  const Mapping mapping = source.mapping();
  if (mapping != nullptr && size > 0 && offset % alignment == 0) {
    return mapped_storage(mapping, offset, size);
  }
  c10::Allocator* allocator = c10::GetCPUAllocator();
  c10::Storage out(c10::Storage::use_byte_size_t(), size, allocator, /*resizable=*/true);
  if (size > 0) source.read(offset, out.mutable_data(), size);
  return out;
}

c10::Storage storage_on(const c10::Storage& storage, c10::Device device,
                        const std::string& saved_on) {
  if (device == storage.device()) return storage;
  if (device.is_cpu() || device.is_cuda()) {
    try {
      return host_bytes(storage).to(device).storage();
    } catch (const c10::Error&) {
      // The error below reports it.
    }
  }
  throw Error(Code::kEnvironment,
              cat("its tensors were saved on '", saved_on, "' and '", device.str(),
                  "' cannot be used here: pass {map_location = 'cpu'}"));
}

at::Tensor host_bytes(const c10::Storage& storage) {
  at::Tensor bytes =
      empty_tensor({0}, at::TensorOptions().dtype(at::kByte).device(storage.device()));
  bytes.set_(storage, 0, {static_cast<int64_t>(storage.nbytes())}, {1});
  return bytes.cpu();
}

}  // namespace rtrain::engine
