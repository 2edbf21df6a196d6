// host/engine/data/gunzip.h: a whole gzip file, decompressed in one call; with libdeflate that
// takes less than half of zlib's time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace rtrain {

// Decompresses a gzip file of one or more members into `out`. True where it is whole and fills
// `out` exactly; otherwise what is in `out` means nothing.
bool gunzip(std::span<const uint8_t> file, std::span<uint8_t> out);

}  // namespace rtrain
