#include "host/dash/api/curve.h"

#include <algorithm>

namespace rtrain::dash {

Map describe_curve(std::span<const store::SeriesSummary> columns) {
  const bool are_points =
      std::all_of(columns.begin(), columns.end(),
                  [](const store::SeriesSummary& each) { return each.count == 1; });
  List steps, times, least, largest, mean, counts, nonfinite;
  for (const store::SeriesSummary& column : columns) {
    const bool has_values = column.finite() > 0;
    const auto number = [&](double value) { return has_values ? Value(value) : Value(); };
    steps.emplace_back(column.first.step);
    times.emplace_back(column.first.time_ms);
    least.push_back(number(column.least.value));
    nonfinite.emplace_back(column.nans + column.infinities);
    if (are_points) continue;
    largest.push_back(number(column.most.value));
    mean.push_back(number(column.sum / static_cast<double>(column.finite())));
    counts.emplace_back(column.count);
  }
  Map out{{"steps", std::move(steps)}, {"times", std::move(times)}, {"min", std::move(least)}};
  if (!are_points) {
    out.set("max", std::move(largest));
    out.set("mean", std::move(mean));
    out.set("counts", std::move(counts));
  }
  out.set("nonfinite", std::move(nonfinite));
  return out;
}

}  // namespace rtrain::dash
