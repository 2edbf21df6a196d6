// host/store/series/series_summary.h: a summary of consecutive points of a series: extrema
// with their places, sum, first and last point. Pure.
//
// Exact, except for rounding of the sum. NaN and infinities are counted but are never
// extrema.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "host/store/series/series_chunk.h"

namespace rtrain::store {

struct SeriesSummary {
  int64_t count = 0;
  int64_t nans = 0;
  int64_t infinities = 0;
  int64_t min_step = 0;
  int64_t max_step = 0;
  double sum = 0;  // of the finite values
  // In the order of logging.
  SeriesPoint first;
  SeriesPoint last;
  // The first point with the smallest, and with the largest, finite value. Undefined if finite() is
  // 0.
  SeriesPoint least;
  SeriesPoint most;

  int64_t finite() const { return count - nans - infinities; }
  // Adds points that come after all points added before.
  void add(const SeriesPoint& point);
  void add(const SeriesSummary& next);
};

// Points of a chunk per summary. Closer inspection unpacks the chunk.
inline constexpr size_t kPartPoints = 256;

// One summary for each kPartPoints points of a chunk.
std::vector<SeriesSummary> summarize(std::span<const SeriesPoint> points);
// The summary of all parts together.
SeriesSummary total(std::span<const SeriesSummary> parts);

// About 50 bytes each.
std::string encode_summaries(std::span<const SeriesSummary> summaries);
// Throws Error(kEnvironment) for invalid bytes, which mean that the store is damaged.
std::vector<SeriesSummary> decode_summaries(std::string_view bytes);

}  // namespace rtrain::store
