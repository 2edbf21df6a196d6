// RunFeed: what a run records comes once, also to a feed that goes on where another one ended.
#include "host/track/run_feed.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "host/store/runs/run_store.h"
#include "host/store/series/series_store.h"
#include "tests/unit/temp_folder.h"

namespace rtrain::track {
namespace {

using namespace store;

class RunFeedTest : public ::testing::Test {
 protected:
  RunFeedTest() {
    NewRun run;
    run.name = "run";
    run.storage_path = temp / "results";
    run.num_workers = 2;
    run.script = "train.lua";
    store = RunStore::open(run);
    store->begin_attempt(1, 2, std::nullopt);
    database = Database::open_read_only(temp / "results/rtrain.db");
    Statement query = database->prepare("SELECT run_id FROM runs");
    query.next();
    run_id = query.text(0);
  }

  void report(int64_t attempt, int64_t index, double loss) {
    const std::vector<Report> reports{{attempt, index, 0, 5, Map{{"loss", loss}}},
                                      {attempt, index, 1, 5, Map{{"loss", -1}}}};
    store->add_reports(reports);
  }

  // Points of rank 0 with these steps, as the chunk of that number.
  void log(const std::string& key, int64_t number, const std::vector<int64_t>& steps) {
    std::vector<SeriesPoint> points;
    for (const int64_t step : steps) points.push_back({.step = step, .time_ms = 1, .value = 0.5});
    SeriesChunk chunk;
    static_cast<message::Series&>(chunk) = chunk_of(key, number, points);
    chunk.attempt = 1;
    add_series(store->claim(), std::vector<SeriesChunk>{chunk});
  }

  // "1:0" for a report of attempt 1, "grad@3" for a point, in the order of the feed.
  std::vector<std::string> next(RunFeed& feed, size_t most = 100) {
    std::vector<std::string> out;
    for (const FeedItem& item : feed.read(most)) {
      if (const auto* report = std::get_if<RankReport>(&item)) {
        out.push_back(std::to_string(report->attempt) + ":" + std::to_string(report->index));
      } else if (const auto* logged = std::get_if<FeedPoint>(&item)) {
        out.push_back(logged->key + "@" + std::to_string(logged->point.step));
      }
    }
    return out;
  }

  using Names = std::vector<std::string>;
  TempFolder temp;
  std::unique_ptr<RunStore> store;
  std::optional<Database> database;
  std::string run_id;
};

TEST_F(RunFeedTest, WhatIsNewComesOnce) {
  RunFeed feed(*database, run_id, {});
  EXPECT_EQ(next(feed), Names{});
  report(1, 0, 0.5);
  log("grad", 0, {0, 1});
  EXPECT_EQ(next(feed), (Names{"1:0", "grad@0", "grad@1"}));
  EXPECT_EQ(next(feed), Names{});
  log("grad", 0, {0, 1, 2});  // the chunk has grown
  log("grad", 1, {3});
  report(1, 1, 0.4);
  EXPECT_EQ(next(feed), (Names{"1:1", "grad@2", "grad@3"}));
  EXPECT_EQ(next(feed), Names{});
}

TEST_F(RunFeedTest, AnotherFeedGoesOnAtItsPosition) {
  report(1, 0, 0.5);
  log("a", 0, {0, 1});
  RunFeed first(*database, run_id, {});
  EXPECT_EQ(next(first), (Names{"1:0", "a@0", "a@1"}));
  report(1, 1, 0.4);
  log("a", 0, {0, 1, 2});
  log("b", 0, {0});
  RunFeed second(*database, run_id, first.position());
  EXPECT_EQ(next(second), (Names{"1:1", "a@2", "b@0"}));
}

TEST_F(RunFeedTest, ALaterAttemptsReportsComeAgain) {
  for (int64_t index = 0; index < 3; ++index) report(1, index, 0.5);
  RunFeed feed(*database, run_id, {});
  EXPECT_EQ(next(feed), (Names{"1:0", "1:1", "1:2"}));
  store->begin_attempt(2, 2, 0);  // from the checkpoint of report 0
  report(2, 1, 0.4);
  EXPECT_EQ(next(feed), Names{"2:1"});
  report(2, 2, 0.3);
  EXPECT_EQ(next(feed), Names{"2:2"});
}

TEST_F(RunFeedTest, SmallReadsMakeUpTheWhole) {
  for (int64_t index = 0; index < 5; ++index) report(1, index, 0.5);
  log("a", 0, {0, 1});
  log("b", 0, {7});
  RunFeed feed(*database, run_id, {});
  Names all;
  for (Names some = next(feed, 2); !some.empty(); some = next(feed, 2)) {
    EXPECT_LE(some.size(), 3U);  // a chunk is not divided
    all.insert(all.end(), some.begin(), some.end());
  }
  EXPECT_EQ(all, (Names{"1:0", "1:1", "1:2", "1:3", "1:4", "a@0", "a@1", "b@7"}));
}

}  // namespace
}  // namespace rtrain::track
