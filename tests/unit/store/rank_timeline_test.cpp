#include "host/store/read/rank_timeline.h"

#include <gtest/gtest.h>

namespace rtrain::store {
namespace {

// Returns a record after every ten steps; the arguments are seconds per step.
std::vector<TimeRecord> records(double compute, double communication, int64_t steps) {
  std::vector<TimeRecord> out;
  for (int64_t step = 0; step <= steps; step += 10) {
    const auto count = static_cast<double>(step);
    TimeRecord record{.step = step, .time_ms = 1000 + step, .times = {}};
    record.times.data = 0.01 * count;
    record.times.compute = compute * count;
    record.times.communication = communication * count;
    out.push_back(record);
  }
  return out;
}

TEST(RankTimeline, NamesTheRankThatTheOthersWaitFor) {
  const RankTimeline timeline =
      make_timeline({{0, records(0.1, 0.35, 200)}, {1, records(0.4, 0.05, 200)}}, 50);
  EXPECT_EQ(timeline.from_step, 150);
  EXPECT_EQ(timeline.to_step, 200);
  ASSERT_EQ(timeline.ranks.size(), 2U);
  EXPECT_EQ(timeline.ranks[0].steps, 50);
  EXPECT_EQ(timeline.ranks[0].intervals.size(), 5U);
  EXPECT_NEAR(timeline.ranks[0].per_step.communication, 0.05, 1e-9);
  EXPECT_NEAR(timeline.ranks[0].per_step.wait, 0.3, 1e-9);
  EXPECT_NEAR(timeline.ranks[1].per_step.wait, 0, 1e-9);
  EXPECT_NEAR(timeline.ranks[0].per_step.total(), timeline.ranks[1].per_step.total(), 1e-9);
  ASSERT_TRUE(timeline.straggler);
  EXPECT_EQ(timeline.straggler->rank, 1);
  EXPECT_EQ(timeline.straggler->phase, "compute");
  EXPECT_NEAR(timeline.straggler->waited_s, 0.3, 1e-9);
  EXPECT_NEAR(timeline.straggler->own_s, 0.4, 1e-9);
  EXPECT_NEAR(timeline.straggler->others_s, 0.1, 1e-9);
}

TEST(RankTimeline, WhoSavesLongerIsNamedThoughAllWaitForTheCommit) {
  std::map<int64_t, std::vector<TimeRecord>> all = {{0, records(0.1, 0, 100)},
                                                    {1, records(0.1, 0, 100)}};
  for (auto& [rank, list] : all) {
    for (TimeRecord& record : list) {
      const auto count = static_cast<double>(record.step);
      record.times.checkpoint = (rank == 1 ? 0.06 : 0.01) * count;
      record.times.report = (rank == 1 ? 0.02 : 0.07) * count;
    }
  }
  const RankTimeline timeline = make_timeline(all, 50);
  EXPECT_NEAR(timeline.ranks[0].per_step.wait, 0.05, 1e-9);
  EXPECT_NEAR(timeline.ranks[1].per_step.wait, 0, 1e-9);
  EXPECT_NEAR(timeline.ranks[0].per_step.report, 0.02, 1e-9) << "the commit";
  EXPECT_NEAR(timeline.ranks[0].per_step.total(), timeline.ranks[1].per_step.total(), 1e-9);
  ASSERT_TRUE(timeline.straggler);
  EXPECT_EQ(timeline.straggler->rank, 1);
  EXPECT_EQ(timeline.straggler->phase, "checkpoint");
  EXPECT_NEAR(timeline.straggler->waited_s, 0.05, 1e-9);
}

TEST(RankTimeline, RanksThatWaitForEachOtherInTurn) {
  std::map<int64_t, std::vector<TimeRecord>> all = {{0, records(0.1, 0.01, 100)},
                                                    {1, records(0.1, 0.01, 100)}};
  for (auto& [rank, list] : all) {
    for (TimeRecord& record : list) {
      record.times.wait = 0.05 * static_cast<double>(record.step);
    }
  }
  const RankTimeline timeline = make_timeline(all, 50);
  for (const RankTimes& rank : timeline.ranks) {
    EXPECT_NEAR(rank.per_step.wait, 0.05, 1e-9);
    EXPECT_NEAR(rank.per_step.communication, 0.01, 1e-9);
  }
  EXPECT_FALSE(timeline.straggler) << "nobody is slow";
  EXPECT_NEAR(waits_in_turn_s(timeline), 0.05, 1e-9);
}

TEST(RankTimeline, StepsThatAllHaveMade) {
  const RankTimeline timeline =
      make_timeline({{0, records(0.1, 0.1, 100)}, {1, records(0.1, 0.1, 60)}}, 20);
  EXPECT_EQ(timeline.from_step, 40);
  EXPECT_EQ(timeline.to_step, 60);
  EXPECT_EQ(timeline.ranks[0].intervals.back().to_step, 60);
  EXPECT_FALSE(timeline.straggler) << "nobody waits";
  EXPECT_EQ(waits_in_turn_s(timeline), 0);
}

TEST(RankTimeline, MoreStepsThanThereAre) {
  const RankTimeline timeline = make_timeline({{0, records(0.1, 0, 30)}}, 1000);
  EXPECT_EQ(timeline.from_step, 0);
  EXPECT_EQ(timeline.ranks[0].steps, 30);
  EXPECT_FALSE(timeline.straggler) << "it is alone";
}

TEST(RankTimeline, ARankWithoutAStep) {
  EXPECT_TRUE(make_timeline({}, 10).ranks.empty());
  EXPECT_TRUE(make_timeline({{0, records(0.1, 0, 30)}, {1, {}}}, 10).ranks.empty());
}

TEST(RankTimeline, ATraceHasTheRanksAsProcesses) {
  const Value trace =
      to_trace(make_timeline({{0, records(0.1, 0.3, 20)}, {1, records(0.3, 0.1, 20)}}, 10));
  const List& events = trace["traceEvents"].as_list();
  ASSERT_EQ(events.size(), 2U + 4 + 3);
  EXPECT_EQ(events[0]["args"]["name"].as_string(), "rank 0");
  EXPECT_EQ(events[1]["name"].as_string(), "data");
  EXPECT_NEAR(events[1]["dur"].as_float(), 1e5, 1);
}

}  // namespace
}  // namespace rtrain::store
