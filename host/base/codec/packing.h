// host/base/codec/packing.h: how a file is packed: what its first bytes and its name say. Any
// thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace rtrain {

enum class Packing : uint8_t { kGzip, kZstandard, kBzip2, kXz };

// As many bytes of a file as packing_of needs to see.
inline constexpr size_t kPackingBytes = 10;

// What the bytes at a file's beginning say; nothing when they are those of no packed file.
std::optional<Packing> packing_of(std::string_view head);

// What the end of a name says: '.gz', '.zst', '.zstd', '.bz2', '.xz', in any case.
std::optional<Packing> packing_of_name(std::string_view name);

// "gzip", "Zstandard", "bzip2", "xz"
std::string_view packing_name(Packing packing);

}  // namespace rtrain
