// host/store/series/series_chunk.h: a run of points of one metric as few bytes.
//
// Steps and times are delta coded, values byte-planed (as floats where all of them are floats, as
// losses of a float model are), the whole deflated. Exact: NaN, -0 and every bit of a double come
// back. Three to five bytes for each point of a noisy loss.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rtrain {

struct SeriesPoint {
  int64_t step = 0;
  int64_t time_ms = 0;
  double value = 0;

  bool operator==(const SeriesPoint& other) const = default;
};

// How many points a chunk has at most.
inline constexpr size_t kMaxChunkPoints = 4096;

std::string encode_series(std::span<const SeriesPoint> points);

// Throws Error(kEnvironment) for bytes that are not a chunk: a damaged store.
std::vector<SeriesPoint> decode_series(std::string_view bytes);

}  // namespace rtrain
