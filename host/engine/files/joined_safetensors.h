// host/engine/files/joined_safetensors.h: writes a safetensors file of tensors whose bytes lie in
// other files.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <utility>
#include <vector>

namespace rtrain::engine {

struct FilePart {
  std::string path;
  uint64_t offset = 0;
  uint64_t size = 0;
};

// A tensor of the new file. Its bytes are `values`, or if that is undefined those of the parts, one
// after the other.
struct JoinedTensor {
  std::string name;
  c10::ScalarType dtype = c10::kFloat;
  std::vector<int64_t> shape;
  at::Tensor values;
  std::vector<FilePart> parts;
};

// Writes the file, syncs it and renames it to `path`. Of files it holds some MiB at a time, of
// tensors one that is not contiguous in host memory. Throws Error(kArgument) for tensors that are
// not dense, and parts that are not as large as their tensor or cut off, Error(kEnvironment) if the
// file cannot be written.
void join_safetensors(const std::vector<JoinedTensor>& tensors,
                      const std::vector<std::pair<std::string, std::string>>& metadata,
                      const std::string& path);

}  // namespace rtrain::engine
