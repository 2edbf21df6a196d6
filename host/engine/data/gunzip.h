// host/engine/data/gunzip.h: decompresses a whole gzip file in one call. With libdeflate this takes
// less than half of zlib's time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace rtrain::engine {

// Decompresses a gzip file of one or more members into `out`. Returns true if the file is whole and
// fills `out` exactly; otherwise the content of `out` is undefined.
bool gunzip(std::span<const uint8_t> file, std::span<uint8_t> out);

}  // namespace rtrain::engine
