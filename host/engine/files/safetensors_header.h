// host/engine/files/safetensors_header.h: the JSON header of a safetensors file.
//
// The format (github.com/huggingface/safetensors): 8 bytes with the header's length, little endian,
// the header, then the bytes of all tensors, contiguous and row-major:
//   {"__metadata__": {"key": "text"}, "name": {"dtype": "F32", "shape": [2, 3],
//    "data_offsets": [0, 24]}}
// Offsets count from the first byte behind the header; the tensors fill it without holes.
#pragma once

#include <c10/core/ScalarType.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rtrain::engine {

inline constexpr uint64_t kMaxSafetensorsHeader = 100'000'000;

struct SafetensorsEntry {
  std::string name;
  c10::ScalarType dtype;
  std::vector<int64_t> shape;
  uint64_t begin = 0;
  uint64_t end = 0;
};

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> tensors;  // in the order of the JSON text
  std::vector<std::pair<std::string, std::string>> metadata;
};

// Parses the header's JSON, for a file with `data_size` bytes after the header. Checks that names
// are unique, that each tensor has as many bytes as its shape and dtype need, and that the tensors
// cover all bytes exactly once. Throws Error(kArgument) naming the tensor.
SafetensorsHeader parse_safetensors_header(std::string_view json, uint64_t data_size);

// Sets the tensors' offsets from their dtypes and shapes. Values are ordered by decreasing element
// size, so that each is aligned. Returns the indices of the tensors in that order.
std::vector<size_t> place_safetensors(SafetensorsHeader& header);

// Formats the header as JSON, padded with spaces so that the data begins at a multiple of 64 in the
// file. Throws Error(kArgument) for a name or text that is not UTF-8, a dtype without a name in the
// format, and a header above 100 MB.
std::string safetensors_header_text(const SafetensorsHeader& header);

}  // namespace rtrain::engine
