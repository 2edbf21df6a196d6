// host/engine/files/file_storage.h: storages on their way out of files and into them.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Storage.h>

#include "host/base/files/byte_source.h"

namespace rtrain {

// The bytes as a storage in host memory. A mapped source's bytes stay where they are, and mapped as
// long as the storage lives, when they lie as elements of `alignment` bytes have to; all others are
// copied. REQUIRES: offset + size <= source.size().
c10::Storage file_storage(const ByteSource& source, uint64_t offset, size_t size, size_t alignment);

// Copied to the device, where it is another one. `saved_on` is for the message of the
// Error(kEnvironment) when that device cannot be used.
c10::Storage storage_on(const c10::Storage& storage, c10::Device device,
                        const std::string& saved_on);

// The storage's bytes as a tensor in host memory; keeps the copy of a device storage alive.
at::Tensor host_bytes(const c10::Storage& storage);

}  // namespace rtrain
