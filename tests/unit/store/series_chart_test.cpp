#include "host/store/series/series_chart.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "host/base/moving_average.h"
#include "host/store/runs/run_store.h"
#include "host/store/series/series_store.h"
#include "tests/unit/temp_folder.h"

namespace rtrain::store {
namespace {

using Points = std::vector<SeriesPoint>;
using Columns = std::vector<SeriesSummary>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

SeriesSummary summary_of(std::span<const SeriesPoint> points) {
  SeriesSummary out;
  for (const SeriesPoint& point : points) out.add(point);
  return out;
}

bool is_same(const SeriesPoint& a, const SeriesPoint& b) {
  return a.step == b.step && a.time_ms == b.time_ms &&
         (a.value == b.value || (std::isnan(a.value) && std::isnan(b.value)));
}

void expect_same_values(const SeriesSummary& got, const SeriesSummary& wanted) {
  EXPECT_EQ(got.count, wanted.count);
  EXPECT_EQ(got.nans, wanted.nans);
  EXPECT_EQ(got.infinities, wanted.infinities);
  EXPECT_EQ(got.min_step, wanted.min_step);
  EXPECT_EQ(got.max_step, wanted.max_step);
  EXPECT_NEAR(got.sum, wanted.sum,
              1e-9 * static_cast<double>(wanted.count) *
                  (1 + std::abs(wanted.least.value) + std::abs(wanted.most.value)));
  if (wanted.finite() == 0) return;
  EXPECT_EQ(got.least.value, wanted.least.value);
  EXPECT_EQ(got.most.value, wanted.most.value);
}

void expect_same(const SeriesSummary& got, const SeriesSummary& wanted) {
  if (wanted.finite() == 0) {
    EXPECT_EQ(got.count, wanted.count);
    EXPECT_EQ(got.nans, wanted.nans);
    return;
  }
  expect_same_values(got, wanted);
  EXPECT_TRUE(is_same(got.first, wanted.first) && is_same(got.last, wanted.last));
  EXPECT_TRUE(is_same(got.least, wanted.least) && is_same(got.most, wanted.most));
}

class SeriesChartTest : public ::testing::Test {
 protected:
  SeriesChartTest() {
    NewRun run;
    run.name = "run";
    run.storage_path = temp / "results";
    run.num_workers = 1;
    store = RunStore::open(run);
  }

  // Adds the points as a worker sends them: chunk by chunk, some chunks more than once.
  void log(int64_t attempt, const Points& points, size_t chunk_points) {
    std::vector<SeriesChunk> chunks;
    const auto add = [&](size_t begin, size_t count) {
      SeriesChunk chunk{chunk_of("loss", static_cast<int64_t>(begin / chunk_points),
                                 std::span(points).subspan(begin, count))};
      chunk.attempt = attempt;
      chunks.push_back(std::move(chunk));
    };
    for (size_t begin = 0; begin < points.size(); begin += chunk_points) {
      const size_t count = std::min(chunk_points, points.size() - begin);
      if (count > 1 && begin % 3 == 0) add(begin, count / 2);
      add(begin, count);
    }
    add_series(store->claim(), chunks);
  }

  void execute(const std::string& sql) { store->claim().database.execute(sql); }

  Points counted(const ChartQuery& query) {
    Points points = series_points(store->claim().database, store->claim().run_id, "loss", 0);
    std::erase_if(points, [&](const SeriesPoint& point) {
      return point.step < query.from_step || point.step > query.to_step;
    });
    return points;
  }

  Columns chart(const ChartQuery& query) {
    return chart_columns(store->claim().database, store->claim().run_id, "loss", 0, query);
  }

  // For increasing steps, each column must summarize consecutive points.
  void expect_is_right(const ChartQuery& query) {
    const Points points = counted(query);
    const Columns columns = chart(query);
    EXPECT_LE(columns.size(), query.columns);
    size_t begin = 0;
    const double width = points.empty()
                             ? 0
                             : static_cast<double>(points.back().step - points.front().step) /
                                   static_cast<double>(query.columns);
    for (const SeriesSummary& column : columns) {
      const auto count = static_cast<size_t>(column.count);
      ASSERT_LE(begin + count, points.size());
      expect_same(column, summary_of(std::span(points).subspan(begin, count)));
      if (!query.by_time && !query.is_log) {
        constexpr double kStride = 1000;  // the largest distance to the next point
        EXPECT_LE(static_cast<double>(column.max_step - column.min_step), 2 * (width + kStride));
      }
      begin += count;
    }
    EXPECT_EQ(begin, points.size());
  }

  TempFolder temp;
  std::unique_ptr<RunStore> store;
};

double random_value(std::mt19937_64& random) {
  switch (random() % 20) {
    case 0:
      return std::nan("");
    case 1:
      return kInfinity;
    case 2:
      return -kInfinity;
    case 3:
      return 0.5;  // a frequent value
    default:
      return std::normal_distribution<double>()(random);
  }
}

// Returns points with increasing steps; the time increases now and then.
Points growing(std::mt19937_64& random, size_t count, int64_t first_step, int attempt = 1) {
  Points out;
  SeriesPoint point{first_step, 1763769600000 + attempt * int64_t{1000000}, 0};
  const uint64_t stride = 1 + random() % 1000;
  for (size_t i = 0; i < count; ++i) {
    point.value = random_value(random);
    out.push_back(point);
    point.step += static_cast<int64_t>(1 + random() % stride);
    point.time_ms += static_cast<int64_t>(random() % 3);
  }
  return out;
}

ChartQuery random_query(std::mt19937_64& random, const Points& points) {
  ChartQuery query;
  query.columns = 1 + random() % 200;
  query.by_time = random() % 4 == 0;
  query.is_log = random() % 4 == 0;
  if (random() % 3 > 0) query.from_step = points[random() % points.size()].step;
  if (random() % 3 > 0) query.to_step = points[random() % points.size()].step;
  return query;
}

TEST_F(SeriesChartTest, IsWhatAllPointsSay) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 12; ++round) {
    execute("DELETE FROM series");
    const size_t chunk_points = round % 3 == 0 ? kMaxChunkPoints : 1 + random() % 40;
    Points all;
    for (int attempt = 1; attempt <= 1 + round % 3; ++attempt) {
      const int64_t first = all.empty() ? -50 : all[random() % all.size()].step;
      const size_t most = chunk_points == kMaxChunkPoints ? 30000 : 3000;
      const Points points = growing(random, 1 + random() % most, first, attempt);
      log(attempt, points, chunk_points);
      all.insert(all.end(), points.begin(), points.end());
    }
    for (int query = 0; query < 20; ++query) expect_is_right(random_query(random, all));
    if (HasFailure()) FAIL() << "in round " << round;
  }
}

TEST_F(SeriesChartTest, SmoothIsTheAverageOfAllPoints) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 6; ++round) {
    execute("DELETE FROM series");
    const Points first = growing(random, 3000, -50, 1);
    log(1, first, 100);
    if (round % 2 == 0) log(2, growing(random, 500, first[random() % first.size()].step, 2), 100);
    ChartQuery query{.columns = 1 + random() % 200, .smoothing = 0.9};
    if (round % 3 == 0) query.from_step = first[100].step;
    Points smooth = counted(query);
    MovingAverage average(query.smoothing);
    for (SeriesPoint& point : smooth) point.value = average.add(point.value);
    size_t begin = 0;
    for (const SeriesSummary& column : chart(query)) {
      const auto count = static_cast<size_t>(column.count);
      ASSERT_LE(begin + count, smooth.size());
      expect_same(column, summary_of(std::span(smooth).subspan(begin, count)));
      begin += count;
    }
    EXPECT_EQ(begin, smooth.size());
  }
}

TEST_F(SeriesChartTest, ALaterAttemptTakesThePlaceOfWhatItLogsAgain) {
  std::mt19937_64 random(7);
  Points first = growing(random, 5000, 0);
  for (size_t i = 0; i < first.size(); ++i) first[i].step = static_cast<int64_t>(i);
  first[4000].value = 1e6;
  Points second(first.begin() + 3000, first.begin() + 3100);
  for (SeriesPoint& point : second) point.value = 2;
  log(1, first, 64);
  log(2, second, 64);
  const SeriesSummary all = total(chart({.columns = 10}));
  EXPECT_EQ(all.count, 3100);
  EXPECT_LT(all.most.value, 1e6);
  EXPECT_TRUE(is_same(all.last, second.back()));
  expect_is_right({.columns = 10});
}

TEST_F(SeriesChartTest, StepsInAnyOrderAreAllThere) {
  std::mt19937_64 random(7);
  Points points = growing(random, 3000, 0);
  for (SeriesPoint& point : points) point.step = static_cast<int64_t>(random() % 1000);
  log(1, points, 16);
  log(2, Points(points.begin(), points.begin() + 1), 16);
  for (const ChartQuery& query :
       {ChartQuery{.columns = 20}, ChartQuery{.from_step = 100, .to_step = 500, .columns = 7},
        ChartQuery{.columns = 20, .by_time = true}}) {
    const Columns columns = chart(query);
    EXPECT_LE(columns.size(), query.columns);
    expect_same_values(total(columns), summary_of(counted(query)));
  }
}

TEST_F(SeriesChartTest, WhatAnOlderRtrainHasWrittenIsThereToo) {
  std::mt19937_64 random(7);
  const Points points = growing(random, 20000, 0);
  log(1, points, 64);
  log(2, growing(random, 500, points[15000].step, 2), 64);
  execute("DELETE FROM series_summaries WHERE level = 3");
  expect_is_right({.columns = 50});
  execute("DELETE FROM series_summaries");
  expect_is_right({.columns = 50});
  execute("DROP TABLE series_summaries");
  expect_is_right({.from_step = points[100].step, .columns = 50});
}

TEST_F(SeriesChartTest, OnlyTheChunksAtTheEndsAreUnpacked) {
  std::mt19937_64 random(7);
  const Points points = growing(random, 64 * kMaxChunkPoints, 0);
  log(1, points, kMaxChunkPoints);
  const ChartQuery query{
      .from_step = points[100].step, .to_step = points[points.size() - 100].step, .columns = 60};
  const SeriesSummary wanted = summary_of(counted(query));
  execute("UPDATE series_chunks SET data = x'00' WHERE number BETWEEN 1 AND 62");
  expect_same(total(chart(query)), wanted);
}

TEST_F(SeriesChartTest, WhatIsDrawnHasEveryExtremumWithItsPlace) {
  std::mt19937_64 random(7);
  Points points = growing(random, 30000, 0);
  points[12345].value = 77;
  points[23456].value = -77;
  log(1, points, kMaxChunkPoints);
  const Points drawn = drawn_points(chart({.columns = 100}));
  EXPECT_LE(drawn.size(), 400U);
  EXPECT_TRUE(std::is_sorted(drawn.begin(), drawn.end(),
                             [](const auto& a, const auto& b) { return a.step < b.step; }));
  for (const size_t place : {12345, 23456}) {
    EXPECT_NE(std::find(drawn.begin(), drawn.end(), points[place]), drawn.end());
  }
  EXPECT_TRUE(std::none_of(drawn.begin(), drawn.end(),
                           [](const auto& point) { return std::isinf(point.value); }));
}

TEST_F(SeriesChartTest, AKeyThatWasNotLoggedHasNoColumns) {
  EXPECT_TRUE(chart({.columns = 10}).empty());
}

TEST(SeriesSummary, ComesBackFromItsBytes) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 200; ++round) {
    Points points = growing(random, random() % 2000, static_cast<int64_t>(random()) / 4);
    const Columns parts = summarize(points);
    const Columns back = decode_summaries(encode_summaries(parts));
    ASSERT_EQ(back.size(), parts.size());
    for (size_t i = 0; i < parts.size(); ++i) {
      expect_same(back[i], parts[i]);
      EXPECT_EQ(back[i].sum, parts[i].sum);
    }
    expect_same(total(back), summary_of(points));
  }
}

TEST(SeriesSummary, DamagedBytesAreAnError) {
  std::mt19937_64 random(7);
  const std::string good = encode_summaries(summarize(growing(random, 2000, 0)));
  for (size_t size = 0; size < good.size(); ++size) {
    EXPECT_THROW(decode_summaries(good.substr(0, size)), Error) << size;
  }
  EXPECT_THROW(decode_summaries("\x07" + good.substr(1)), Error);
}

}  // namespace
}  // namespace rtrain::store
