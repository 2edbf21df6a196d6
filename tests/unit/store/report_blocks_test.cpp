#include "host/store/read/curves/report_blocks.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <memory>

#include "host/base/codec/json.h"
#include "host/store/read/report_rows.h"
#include "host/store/runs/run_store.h"
#include "tests/unit/temp_folder.h"

namespace rtrain::store {
namespace {

constexpr int64_t kMany = 100000;

class ReportBlocksTest : public ::testing::Test {
 protected:
  ReportBlocksTest() {
    NewRun run;
    run.name = "run";
    run.storage_path = temp / "results";
    store = RunStore::open(run);
    store->begin_attempt(1, 1, std::nullopt);
  }

  void report(int64_t count, const std::function<Map(int64_t)>& metrics, int64_t first = 0) {
    std::vector<Report> rows;
    for (int64_t i = 0; i < count; ++i) {
      rows.push_back({.attempt = 1, .index = first + i, .metrics = metrics(first + i)});
    }
    store->add_reports(rows);
  }

  // Returns one text for each report. All ways of reading must agree.
  std::vector<std::string> read(int max_threads) {
    ReportBlocks blocks(temp / "results", "run", max_threads);
    std::vector<std::string> out;
    while (const ReportBlock* block = blocks.next()) {
      const double* number = block->numbers.data();
      size_t other = 0;
      for (const auto& run : block->runs) {
        for (int i = 0; i < run.num_reports; ++i) {
          if (run.names == ReportBlock::kOthers) {
            out.push_back(to_json(block->others.at(other++)));
            continue;
          }
          Map row;
          for (const std::string& name : blocks.names(run.names)) row.set(name, *number++);
          out.push_back(to_json(row));
        }
      }
      EXPECT_EQ(number, block->numbers.data() + block->numbers.size());
      EXPECT_EQ(other, block->others.size());
    }
    EXPECT_LE(out.size(), blocks.max_reports());
    return out;
  }

  std::vector<std::string> wanted() {
    OpenRun run = open_run(temp / "results", "run");
    std::vector<std::string> out;
    each_report(run.store.database(), run.ref.run_id, [&](const RankReport& report) {
      const Map& metrics = report.metrics.as_map();
      Map row;
      for (const auto& [name, value] : metrics) {
        row.set(std::get<std::string>(name), value.is_int() ? Value(value.as_float()) : value);
      }
      out.push_back(to_json(row));
    });
    return out;
  }

  TempFolder temp;
  std::unique_ptr<RunStore> store;
};

Map of_many_kinds(int64_t i) {
  const auto number = static_cast<double>(i);
  if (i % 1000 == 1) return {{"loss", std::nan("")}, {"epoch", number}};
  if (i % 1000 == 2) return {{"note", "text"}, {"inner", Map{{"loss", number}}}};
  if (i % 1000 == 3) return {};
  if (i % 1000 == 4) return {{std::to_string(i), number}};  // more names than a part keeps
  if (i % 2 == 0) return {{"epoch", number}, {"loss", 1 / (number + 1)}};
  return {{"val/loss", -number}};
}

TEST_F(ReportBlocksTest, ThreadsReadWhatOneThreadReads) {
  report(kMany, of_many_kinds);
  const std::vector<std::string> all = wanted();
  ASSERT_EQ(all.size(), static_cast<size_t>(kMany));
  EXPECT_EQ(read(0), all);
  EXPECT_EQ(read(1), all);
  EXPECT_EQ(read(4), all);
}

TEST_F(ReportBlocksTest, WhatWasSupersededIsLeftOut) {
  report(100, of_many_kinds);
  store->begin_attempt(2, 1, 39);
  const std::vector<std::string> all = wanted();
  EXPECT_EQ(all.size(), 40U);
  EXPECT_EQ(read(4), all);
}

TEST_F(ReportBlocksTest, ARunWithoutReportsHasNoBlocks) { EXPECT_TRUE(read(4).empty()); }

TEST_F(ReportBlocksTest, IndicesMayBeFarApart) {
  report(3, of_many_kinds);
  report(3, of_many_kinds, int64_t{1} << 50);
  EXPECT_EQ(read(2), wanted());
  report(1, of_many_kinds, std::numeric_limits<int64_t>::max());
  report(2, of_many_kinds, std::numeric_limits<int64_t>::min());
  EXPECT_EQ(wanted().size(), 9U);
  EXPECT_EQ(read(2), wanted());
}

TEST_F(ReportBlocksTest, ItMayBeLeftBeforeTheEnd) {
  report(kMany, of_many_kinds);
  ReportBlocks blocks(temp / "results", "run", 2);
  ASSERT_NE(blocks.next(), nullptr);
}

}  // namespace
}  // namespace rtrain::store
