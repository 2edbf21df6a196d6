// host/base/codec/packing.h: detects how a file is packed, by its first bytes or its name. Any
// thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace rtrain {

enum class Packing : uint8_t { kGzip, kZstandard, kBzip2, kXz };

// The number of bytes of a file that packing_of needs.
inline constexpr size_t kPackingBytes = 10;

// Detects the packing from a file's first bytes; nullopt if it is not packed.
std::optional<Packing> packing_of(std::string_view head);

// Detects the packing from the suffix: '.gz', '.zst', '.zstd', '.bz2', '.xz', in any case.
std::optional<Packing> packing_of_name(std::string_view name);

// "gzip", "Zstandard", "bzip2", "xz"
std::string_view packing_name(Packing packing);

}  // namespace rtrain
