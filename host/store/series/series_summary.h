// host/store/series/series_summary.h: what is known of consecutive points of a series without
// looking at them: their extrema with their places, their sum, the first and the last. Pure.
//
// Exact, but for the sum, which is rounded as sums are. NaN and infinities are counted, and are no
// extremum.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "host/store/series/series_chunk.h"

namespace rtrain {

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
  // The first of the finite values that are smallest, and largest. Any points where finite() is 0.
  SeriesPoint least;
  SeriesPoint most;

  int64_t finite() const { return count - nans - infinities; }
  // What comes after all that it knows.
  void add(const SeriesPoint& point);
  void add(const SeriesSummary& next);
};

// How many points of a chunk one summary is of: what is looked at more closely is unpacked.
inline constexpr size_t kPartPoints = 256;

// Of each kPartPoints points of a chunk.
std::vector<SeriesSummary> summarize(std::span<const SeriesPoint> points);
// Of all of them.
SeriesSummary total(std::span<const SeriesSummary> parts);

// About 50 bytes each.
std::string encode_summaries(std::span<const SeriesSummary> summaries);
// Throws Error(kEnvironment) for bytes that are none: a damaged store.
std::vector<SeriesSummary> decode_summaries(std::string_view bytes);

}  // namespace rtrain
