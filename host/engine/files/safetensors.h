// host/engine/files/safetensors.h: files of named tensors in the safetensors format.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <utility>
#include <vector>

#include "host/base/files/byte_source.h"
#include "host/base/files/new_file.h"
#include "host/engine/files/safetensors_header.h"

namespace rtrain::engine {

struct NamedTensors {
  std::vector<std::pair<std::string, at::Tensor>> tensors;
  std::vector<std::pair<std::string, std::string>> metadata;
};

// What a file holds: its header, and the tensors whose values follow it, in their order there.
struct SafetensorsContent {
  std::string header;
  std::vector<at::Tensor> values;
};

// Throws Error(kArgument) for a tensor that a file cannot hold: it is sparse, or has a part of the
// rows of a sharded parameter.
void check_dense(const std::string& name, const at::Tensor& tensor);

// Names keep their order. Throws Error(kArgument) for tensors that share memory, as Python's
// safetensors does (the format cannot represent that), for sparse tensors and for dtypes that the
// format lacks.
SafetensorsContent lay_out_safetensors(const NamedTensors& named);

// Returns the tensor's values as a file has them: contiguous. No copy if they are.
at::Tensor file_values(const at::Tensor& tensor);

// Writes the beginning of a file.
void write_safetensors_header(const std::string& header, NewFile& file);

// Writes a new file, syncs it and renames it to `path`. Throws Error(kEnvironment) if the file
// cannot be written. Any thread.
void write_safetensors(const SafetensorsContent& content, const std::string& path);

// lay_out_safetensors and write_safetensors.
void save_safetensors(const NamedTensors& named, const std::string& path);

// Returns the file's header; its offsets count from the beginning of the file. Throws
// Error(kArgument) for a file that is not well-formed or is cut off.
SafetensorsHeader read_safetensors_header(const ByteSource& source);

// Returns the tensors in the header's order, on the device. Tensors in host memory stay in the
// source's mapping, if it has one. Throws Error(kArgument) for a file that is not well-formed.
NamedTensors load_safetensors(const ByteSource& source, c10::Device device);

}  // namespace rtrain::engine
