// host/engine/files/safetensors.h: files of named tensors in the safetensors format.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <utility>
#include <vector>

#include "host/base/files/byte_source.h"

namespace rtrain::engine {

struct NamedTensors {
  std::vector<std::pair<std::string, at::Tensor>> tensors;
  std::vector<std::pair<std::string, std::string>> metadata;
};

// Writes the tensors' values, contiguous, to a new file, syncs it and renames it to `path`. Names
// keep their order; values are ordered by decreasing element size, so that each is aligned. Throws
// Error(kArgument) for tensors that share memory, as Python's safetensors does (the format cannot
// represent that), for sparse tensors and for dtypes that the format lacks; Error(kEnvironment) if
// the file cannot be written.
void save_safetensors(const NamedTensors& content, const std::string& path);

// Returns the tensors in the header's order, on the device. Tensors in host memory stay in the
// source's mapping, if it has one. Throws Error(kArgument) for a file that is not well-formed.
NamedTensors load_safetensors(const ByteSource& source, c10::Device device);

}  // namespace rtrain::engine
