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

namespace rtrain {

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

// The header's JSON, for `data_size` bytes behind it. Each name, shape and offset is checked: names
// are unique, a tensor's bytes are as many as its shape and dtype ask for, and together they are
// all the bytes there are, none of them twice. Throws Error(kArgument) naming the tensor.
SafetensorsHeader parse_safetensors_header(std::string_view json, uint64_t data_size);

// The same as JSON, padded with spaces so that the bytes behind it begin at a multiple of 64 in the
// file. Throws Error(kArgument) for a name or text that is not UTF-8, a dtype that the format has
// no word for, and a header above 100 MB.
std::string safetensors_header_text(const SafetensorsHeader& header);

}  // namespace rtrain
