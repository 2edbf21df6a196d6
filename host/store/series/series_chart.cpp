#include "host/store/series/series_chart.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>
#include <utility>

#include "host/base/error.h"
#include "host/base/moving_average.h"
#include "host/store/db/database.h"
#include "host/store/series/series_parts.h"
#include "host/store/series/series_pyramid.h"
#include "host/store/series/series_store.h"

namespace rtrain::store {
namespace {

// The series of one attempt, and the step from which a later attempt has logged again.
struct Part {
  SeriesPyramid pyramid;
  int64_t end;
};

std::vector<Part> parts_of(Database& database, const std::string& run_id, const std::string& key,
                           int64_t rank) {
  std::vector<Part> out;
  for (const SeriesPart& part : series_parts(database, run_id, key, rank)) {
    SeriesPyramid pyramid(database, part.series_id);
    if (pyramid.all().count > 0) out.push_back({std::move(pyramid), part.end});
  }
  return out;
}

// Maps points to positions on the axis.
class Scale {
 public:
  Scale(const std::vector<Part>& parts, const ChartQuery& query) : query_(query) {
    double low = std::numeric_limits<double>::infinity();
    double high = -low;
    for (const Part& part : parts) {
      const SeriesSummary& all = part.pyramid.all();
      const int64_t from_step = std::max(all.min_step, query.from_step);
      const int64_t to_step = std::min({all.max_step, query.to_step, part.end});
      low = std::min(low, query.by_time ? x(all.first) : static_cast<double>(from_step));
      high = std::max(high, query.by_time ? x(all.last) : static_cast<double>(to_step));
    }
    begin_ = query.by_time ? low : 0;
    low_ = at(low - begin_);
    width_ = (at(high - begin_) - low_) / static_cast<double>(std::max<size_t>(query.columns, 1));
  }

  // The column's index, from 0.
  size_t column(const SeriesPoint& point) const {
    if (!(width_ > 0)) return 0;
    const double column = (at(x(point) - begin_) - low_) / width_;
    return static_cast<size_t>(std::clamp(column, 0.0, static_cast<double>(query_.columns) - 1));
  }

  bool is_narrow(const SeriesSummary& points) const {
    const double from =
        query_.by_time ? x(points.first) - begin_ : static_cast<double>(points.min_step);
    const double to =
        query_.by_time ? x(points.last) - begin_ : static_cast<double>(points.max_step);
    return at(to) - at(from) <= width_;
  }

 private:
  double x(const SeriesPoint& point) const {
    return static_cast<double>(query_.by_time ? point.time_ms : point.step);
  }
  double at(double x) const { return query_.is_log ? std::log10(std::max(x, 1.0)) : x; }

  const ChartQuery& query_;
  double begin_ = 0;
  double low_ = 0;
  double width_ = 0;
};

// Uses all points, one after the other.
std::vector<SeriesSummary> smooth_columns(Database& database, const std::string& run_id,
                                          const std::string& key, int64_t rank,
                                          const ChartQuery& query, const Scale& scale) {
  std::vector<SeriesSummary> columns(query.columns);
  MovingAverage average(query.smoothing);
  each_valid_point(database, run_id, key, rank, [&](const LoggedPoint& logged) {
    SeriesPoint point = logged.point;
    if (point.step < query.from_step || point.step > query.to_step) return;
    point.value = average.add(point.value);
    columns[scale.column(point)].add(point);
  });
  return columns;
}

// Uses summaries if they are narrow enough, else points.
std::vector<SeriesSummary> summed_columns(std::vector<Part>& parts, const ChartQuery& query,
                                          const Scale& scale) {
  std::vector<SeriesSummary> columns(query.columns);
  for (Part& part : parts) {
    using Look = SeriesPyramid::Look;
    const auto has = [&](int64_t step) {
      return step >= query.from_step && step <= query.to_step && step < part.end;
    };
    part.pyramid.visit({
        .look =
            [&](const SeriesSummary& points) {
              if (points.max_step < query.from_step || points.min_step > query.to_step ||
                  points.min_step >= part.end) {
                return Look::kSkip;
              }
              const bool is_whole = has(points.min_step) && has(points.max_step);
              return is_whole && scale.is_narrow(points) ? Look::kWhole : Look::kInside;
            },
        .on_whole =
            [&](const SeriesSummary& points) { columns[scale.column(points.first)].add(points); },
        .on_point =
            [&](const SeriesPoint& point) {
              if (has(point.step)) columns[scale.column(point)].add(point);
            },
    });
  }
  return columns;
}

}  // namespace

std::vector<SeriesSummary> chart_columns(Database& database, const std::string& run_id,
                                         const std::string& key, int64_t rank,
                                         const ChartQuery& query) {
  RT_CHECK(query.columns > 0);
  std::vector<Part> parts = parts_of(database, run_id, key, rank);
  const Scale scale(parts, query);
  std::vector<SeriesSummary> columns =
      query.smoothing > 0 ? smooth_columns(database, run_id, key, rank, query, scale)
                          : summed_columns(parts, query, scale);
  std::erase_if(columns, [](const SeriesSummary& column) { return column.count == 0; });
  return columns;
}

namespace {

bool is_same(const SeriesPoint& a, const SeriesPoint& b) {
  const bool values = a.value == b.value || (std::isnan(a.value) && std::isnan(b.value));
  return values && a.step == b.step && a.time_ms == b.time_ms;
}

bool is_earlier(const SeriesPoint& a, const SeriesPoint& b) {
  return std::tie(a.time_ms, a.step) < std::tie(b.time_ms, b.step);
}

}  // namespace

std::vector<SeriesPoint> drawn_points(const std::vector<SeriesSummary>& columns) {
  std::vector<SeriesPoint> out;
  for (const SeriesSummary& column : columns) {
    std::array points = {column.first, column.least, column.most, column.last};
    if (is_earlier(column.most, column.least)) std::swap(points[1], points[2]);
    for (const SeriesPoint& point : points) {
      if (std::isinf(point.value)) continue;
      if (out.empty() || !is_same(out.back(), point)) out.push_back(point);
    }
  }
  return out;
}

}  // namespace rtrain::store
