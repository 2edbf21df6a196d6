// host/engine/files/safetensors.h: files of named tensors in the safetensors format.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <utility>
#include <vector>

#include "host/base/files/byte_source.h"

namespace rtrain {

struct NamedTensors {
  std::vector<std::pair<std::string, at::Tensor>> tensors;
  std::vector<std::pair<std::string, std::string>> metadata;
};

// Writes the tensors' values, contiguous, and renames the synced file over `path`. Names keep their
// order; the values lie in the order of falling element size, so that each is aligned. Throws
// Error(kArgument) for tensors that share memory, as Python's safetensors does (the file could not
// keep that), sparse ones and dtypes that the format lacks; Error(kEnvironment) when the file
// cannot be written.
void save_safetensors(const NamedTensors& content, const std::string& path);

// The tensors in the header's order, on the device. Those in host memory stay in the source's
// mapping, where it has one. Throws Error(kArgument) for anything but a well-formed file.
NamedTensors load_safetensors(const ByteSource& source, c10::Device device);

}  // namespace rtrain
