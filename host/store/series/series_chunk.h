// host/store/series/series_chunk.h: compact encoding of consecutive points of one metric.
//
// Steps and times are delta coded; values are split into byte planes (as floats if all are exactly
// floats, as losses of a float model are); the whole is deflated. Exact, including NaN, -0 and
// every bit of a double. A noisy loss needs three to five bytes per point.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rtrain::store {

struct SeriesPoint {
  int64_t step = 0;
  int64_t time_ms = 0;
  double value = 0;

  bool operator==(const SeriesPoint& other) const = default;
};

// Maximum number of points in a chunk.
inline constexpr size_t kMaxChunkPoints = 4096;

std::string encode_series(std::span<const SeriesPoint> points);

// Throws Error(kEnvironment) for bytes that are not a chunk, which means that the store is damaged.
std::vector<SeriesPoint> decode_series(std::string_view bytes);

}  // namespace rtrain::store
