#include "host/store/series/series_summary.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "host/store/series/series_bytes.h"

namespace rtrain::store {
namespace {

// The first byte. Readers support all versions.
constexpr char kVersion = 1;
// Flags of one summary.
constexpr unsigned char kNarrow = 1;  // values as float, else as double
constexpr unsigned char kOdd = 2;     // it has NaN or infinities

constexpr std::array kPoints = {&SeriesSummary::first, &SeriesSummary::last, &SeriesSummary::least,
                                &SeriesSummary::most};

void put_value(std::string& out, double value, bool narrow) {
  if (narrow) {
    put_fixed(out, std::bit_cast<uint32_t>(static_cast<float>(value)), sizeof(float));
  } else {
    put_fixed(out, std::bit_cast<uint64_t>(value), sizeof(double));
  }
}

double take_value(SeriesBytes& in, bool narrow) {
  if (narrow) return std::bit_cast<float>(static_cast<uint32_t>(in.fixed(sizeof(float))));
  return std::bit_cast<double>(in.fixed(sizeof(double)));
}

void put(std::string& out, const SeriesSummary& summary, const SeriesPoint& before) {
  const bool narrow = std::all_of(kPoints.begin(), kPoints.end(),
                                  [&](auto point) { return is_float((summary.*point).value); });
  const bool odd = summary.nans > 0 || summary.infinities > 0;
  out.push_back(static_cast<char>((narrow ? kNarrow : 0) | (odd ? kOdd : 0)));
  put_varint(out, static_cast<uint64_t>(summary.count));
  if (odd) {
    put_varint(out, static_cast<uint64_t>(summary.nans));
    put_varint(out, static_cast<uint64_t>(summary.infinities));
  }
  SeriesPoint base = before;
  for (const auto point : kPoints) {
    const SeriesPoint& here = summary.*point;
    put_varint(out, zigzag(wrapped_minus(here.step, base.step)));
    put_varint(out, zigzag(wrapped_minus(here.time_ms, base.time_ms)));
    put_value(out, here.value, narrow);
    base = summary.first;
  }
  put_varint(out, zigzag(wrapped_minus(summary.min_step, base.step)));
  put_varint(out, zigzag(wrapped_minus(summary.max_step, summary.last.step)));
  put_value(out, summary.sum, false);
}

SeriesSummary take(SeriesBytes& in, const SeriesPoint& before) {
  SeriesSummary out;
  const auto form = static_cast<unsigned char>(in.take(1)[0]);
  if (form > (kNarrow | kOdd)) throw_damaged_series();
  out.count = static_cast<int64_t>(in.varint());
  if ((form & kOdd) != 0) {
    out.nans = static_cast<int64_t>(in.varint());
    out.infinities = static_cast<int64_t>(in.varint());
  }
  SeriesPoint base = before;
  for (const auto point : kPoints) {
    SeriesPoint& here = out.*point;
    here.step = wrapped_plus(base.step, unzigzag(in.varint()));
    here.time_ms = wrapped_plus(base.time_ms, unzigzag(in.varint()));
    here.value = take_value(in, (form & kNarrow) != 0);
    base = out.first;
  }
  out.min_step = wrapped_plus(base.step, unzigzag(in.varint()));
  out.max_step = wrapped_plus(out.last.step, unzigzag(in.varint()));
  out.sum = take_value(in, false);
  return out;
}

}  // namespace

void SeriesSummary::add(const SeriesPoint& point) {
  if (count == 0) {
    first = least = most = point;
    min_step = max_step = point.step;
  }
  min_step = std::min(min_step, point.step);
  max_step = std::max(max_step, point.step);
  last = point;
  if (std::isnan(point.value)) {
    ++nans;
  } else if (std::isinf(point.value)) {
    ++infinities;
  } else {
    if (finite() == 0 || point.value < least.value) least = point;
    if (finite() == 0 || point.value > most.value) most = point;
    sum += point.value;
  }
  ++count;
}

void SeriesSummary::add(const SeriesSummary& next) {
  if (next.count == 0) return;
  if (count == 0) {
    *this = next;
    return;
  }
  if (next.finite() > 0) {
    if (finite() == 0 || next.least.value < least.value) least = next.least;
    if (finite() == 0 || next.most.value > most.value) most = next.most;
  }
  count += next.count;
  nans += next.nans;
  infinities += next.infinities;
  min_step = std::min(min_step, next.min_step);
  max_step = std::max(max_step, next.max_step);
  sum += next.sum;
  last = next.last;
}

std::vector<SeriesSummary> summarize(std::span<const SeriesPoint> points) {
  std::vector<SeriesSummary> parts;
  for (size_t i = 0; i < points.size(); ++i) {
    if (i % kPartPoints == 0) parts.emplace_back();
    parts.back().add(points[i]);
  }
  return parts;
}

SeriesSummary total(std::span<const SeriesSummary> parts) {
  SeriesSummary out;
  for (const SeriesSummary& part : parts) out.add(part);
  return out;
}

std::string encode_summaries(std::span<const SeriesSummary> summaries) {
  std::string out{kVersion};
  put_varint(out, summaries.size());
  SeriesPoint before;
  for (const SeriesSummary& summary : summaries) {
    put(out, summary, before);
    before = summary.last;
  }
  return out;
}

std::vector<SeriesSummary> decode_summaries(std::string_view bytes) {
  SeriesBytes in(bytes);
  if (in.take(1)[0] != kVersion) throw_damaged_series();
  const uint64_t count = in.varint();
  if (count > kMaxChunkPoints) throw_damaged_series();
  std::vector<SeriesSummary> out;
  SeriesPoint before;
  while (out.size() < count) {
    out.push_back(take(in, before));
    before = out.back().last;
  }
  return out;
}

}  // namespace rtrain::store
