// host/engine/files/file_storage.h: storages read from files and written to files.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Storage.h>

#include "host/base/files/byte_source.h"

namespace rtrain::engine {

// The bytes as a storage in host memory. If the source is mapped and the bytes are aligned to
// `alignment`, the storage uses the mapping and keeps it alive; otherwise it is a copy. REQUIRES:
// offset + size <= source.size().
c10::Storage file_storage(const ByteSource& source, uint64_t offset, size_t size, size_t alignment);

// Copies the storage to the device, unless it is already there. Throws Error(kEnvironment), naming
// `saved_on`, if the device cannot be used.
c10::Storage storage_on(const c10::Storage& storage, c10::Device device,
                        const std::string& saved_on);

// The storage's bytes as a tensor in host memory. For a device storage the tensor owns the copy.
at::Tensor host_bytes(const c10::Storage& storage);

}  // namespace rtrain::engine
