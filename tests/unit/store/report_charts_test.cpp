#include "host/store/read/curves/report_charts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "host/store/runs/run_store.h"
#include "tests/unit/temp_folder.h"

namespace rtrain::store {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

class ReportChartsTest : public ::testing::Test {
 protected:
  ReportChartsTest() {
    NewRun run;
    run.name = "run";
    run.storage_path = temp / "results";
    run.num_workers = 2;
    store = RunStore::open(run);
    store->begin_attempt(1, 2, std::nullopt);
  }

  Value value() {
    switch (random() % 12) {
      case 0:
        return std::nan("");
      case 1:
        return kInfinity;
      case 2:
        return -kInfinity;
      case 3:
        return "text";
      case 4:
        return static_cast<int64_t>(random() % 100);
      case 5:
        return {};
      default:
        return std::normal_distribution<double>()(random);
    }
  }

  // Adds `count` reports of both ranks.
  void report(int64_t count, int64_t attempt = 1) {
    std::vector<Report> rows;
    for (int64_t i = 0; i < count; ++i, ++next_index) {
      for (int64_t rank = 0; rank < 2; ++rank) {
        rows.push_back({.attempt = attempt,
                        .index = next_index,
                        .rank = static_cast<int>(rank),
                        .time_ms = 1763769600000 + next_index,
                        .metrics = Map{{"loss", value()},
                                       {"a \"b\", {c", 0.5},
                                       {"inner", Map{{"loss", 1e9}}},
                                       {rank == 0 ? "zero" : "one", value()}}});
      }
    }
    store->add_reports(rows);
  }

  void expect_is_right(const std::string& metric, int64_t rank, const ChartQuery& query) {
    std::vector<SeriesPoint> points =
        reported_points(database(), store->run_id(), metric, rank, query.from_step, query.to_step);
    const auto columns = charts.columns(database(), store->run_id(), metric, rank, query);
    ASSERT_TRUE(columns);
    EXPECT_LE(columns->size(), query.columns);
    size_t begin = 0;
    for (const SeriesSummary& column : *columns) {
      const auto count = static_cast<size_t>(column.count);
      ASSERT_LE(begin + count, points.size());
      SeriesSummary wanted;
      for (size_t i = begin; i < begin + count; ++i) wanted.add(points[i]);
      EXPECT_EQ(column.nans, wanted.nans);
      EXPECT_EQ(column.infinities, wanted.infinities);
      EXPECT_EQ(column.min_step, wanted.min_step);
      EXPECT_EQ(column.max_step, wanted.max_step);
      EXPECT_EQ(column.first.time_ms, wanted.first.time_ms);
      if (wanted.finite() > 0) {
        EXPECT_EQ(column.least, wanted.least);
        EXPECT_EQ(column.most, wanted.most);
        EXPECT_NEAR(column.sum, wanted.sum, 1e-9 * (1 + std::abs(wanted.sum)));
      }
      begin += count;
    }
    EXPECT_EQ(begin, points.size());
  }

  ChartQuery query() {
    ChartQuery out;
    out.columns = 1 + random() % 100;
    if (random() % 3 > 0) out.from_step = static_cast<int64_t>(random() % next_index);
    if (random() % 3 > 0) out.to_step = static_cast<int64_t>(random() % next_index);
    return out;
  }

  Database& database() { return store->claim().database; }

  TempFolder temp;
  std::unique_ptr<RunStore> store;
  ReportCharts charts;
  std::mt19937_64 random{11};
  int64_t next_index = 0;
};

TEST_F(ReportChartsTest, IsWhatAllReportsSayAsTheyCome) {
  for (const int64_t count : {1, 5, 250, 1, 255, 1000, 3000, 1, 1, 400}) {
    report(count);
    for (int i = 0; i < 12; ++i) {
      const int64_t rank = i % 2;
      if (reported_points(database(), store->run_id(), "loss", rank).empty()) {
        EXPECT_FALSE(charts.columns(database(), store->run_id(), "loss", rank, query()));
      } else {
        expect_is_right("loss", rank, query());
      }
    }
  }
}

TEST_F(ReportChartsTest, ASpikeIsSeenWhereverItIs) {
  report(5000);
  database().execute(
      "UPDATE reports SET metrics = json_set(metrics, '$.loss', 1e6), nonfinite = NULL WHERE idx = "
      "3333 AND rank = 0");
  const auto columns = charts.columns(database(), store->run_id(), "loss", 0, {.columns = 7});
  ASSERT_TRUE(columns);
  const auto highest =
      std::max_element(columns->begin(), columns->end(),
                       [](const auto& a, const auto& b) { return a.most.value < b.most.value; });
  EXPECT_EQ(highest->most.value, 1e6);
  EXPECT_EQ(highest->most.step, 3333);
}

TEST_F(ReportChartsTest, ANewAttemptSupersedesReports) {
  report(1000);
  expect_is_right("loss", 0, {.columns = 10});
  store->begin_attempt(2, 2, 499);
  next_index = 500;
  report(900, 2);
  for (int i = 0; i < 20; ++i) expect_is_right("loss", 0, query());
  const auto all = charts.columns(database(), store->run_id(), "loss", 0, {.columns = 1});
  ASSERT_TRUE(all);
  EXPECT_EQ((*all)[0].max_step, next_index - 1);
}

TEST_F(ReportChartsTest, AMetricInAMapHasItsPath) {
  report(700);
  EXPECT_EQ(reported_points(database(), store->run_id(), "inner/loss", 1).size(), 700U);
  expect_is_right("inner/loss", 1, {.columns = 10});
  EXPECT_FALSE(charts.columns(database(), store->run_id(), "inner", 1, {.columns = 10}));
}

TEST_F(ReportChartsTest, NamesAreThoseOfNumbersOfAllRanks) {
  report(300);
  EXPECT_EQ(charts.names(database(), store->run_id()),
            (std::vector<std::string>{"a \"b\", {c", "inner/loss", "loss", "one", "zero"}));
  EXPECT_FALSE(charts.columns(database(), store->run_id(), "one", 0, {}));
  EXPECT_TRUE(charts.columns(database(), store->run_id(), "one", 1, {}));
  EXPECT_FALSE(charts.columns(database(), store->run_id(), "inner", 0, {}));
  EXPECT_FALSE(charts.columns(database(), store->run_id(), "loss", 7, {}));
  EXPECT_FALSE(charts.columns(database(), "another", "loss", 0, {}));
}

TEST_F(ReportChartsTest, ARunThatWasDroppedIsReadAgain) {
  ReportCharts little(0);
  report(3000);
  for (int i = 0; i < 3; ++i) {
    const auto columns = little.columns(database(), store->run_id(), "loss", 0, {.columns = 1});
    ASSERT_TRUE(columns);
    EXPECT_EQ((*columns)[0].max_step, 2999);
    EXPECT_FALSE(little.columns(database(), "another", "loss", 0, {}));
  }
}

}  // namespace
}  // namespace rtrain::store
