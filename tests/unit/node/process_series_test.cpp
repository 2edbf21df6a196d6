#include "host/node/series/process_series.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace rtrain::node {
namespace {

std::map<std::string, store::SeriesPoint> last_points(
    const std::vector<store::SeriesChunk>& chunks) {
  std::map<std::string, store::SeriesPoint> out;
  for (const store::SeriesChunk& chunk : chunks)
    out[chunk.key] = store::decode_series(chunk.data).back();
  return out;
}

machine::ProcessFacts running(double cpu_s) {
  machine::ProcessFacts out;
  out.state = 'R';
  out.cpu_s = cpu_s;
  out.memory_bytes = 700;
  return out;
}

TEST(ProcessSeries, WhatIsForEachSecondBeginsWithTheSecondSample) {
  ProcessSeries series(2);
  const auto first = series.add_process(1, 4711, running(10), machine::ProcessIo{1000, 0}, 20'000);
  ASSERT_EQ(first.size(), 1U);
  EXPECT_EQ(first[0].key, "process/memory_bytes");
  EXPECT_EQ(first[0].attempt, 2);
  EXPECT_EQ(first[0].rank, 1);
  const auto second =
      last_points(series.add_process(1, 4711, running(13), machine::ProcessIo{5000, 200}, 22'000));
  EXPECT_EQ(second.at("process/cpu_percent"), (store::SeriesPoint{22, 22'000, 150}));
  EXPECT_EQ(second.at("process/memory_bytes").value, 700);
  EXPECT_EQ(second.at("process/disk_read_bytes_per_s").value, 2000);
  EXPECT_EQ(second.at("process/disk_written_bytes_per_s").value, 100);
}

TEST(ProcessSeries, AProcessThatTookARanksPlaceIsNotComparedWithTheOneBefore) {
  ProcessSeries series(1);
  series.add_process(0, 100, running(10), std::nullopt, 1000);
  const auto points = last_points(series.add_process(0, 101, running(90), std::nullopt, 2000));
  EXPECT_FALSE(points.contains("process/cpu_percent"));
  EXPECT_TRUE(series.add_process(0, 102, {}, std::nullopt, 3000).empty());
}

TEST(ProcessSeries, TheNodeHasWhatItTells) {
  ProcessSeries series(1);
  machine::NodeFacts facts;
  facts.cpu_s = 50;
  facts.memory_used_bytes = 9000;
  facts.network_sent_bytes = 100;
  facts.network_received_bytes = 500;
  EXPECT_EQ(last_points(series.add_node(4, facts, 1000)).size(), 1U);
  facts.cpu_s = 58;
  facts.network_sent_bytes = 300;
  facts.network_received_bytes = 400;  // a network interface has disappeared
  const auto chunks = series.add_node(4, facts, 5000);
  for (const store::SeriesChunk& chunk : chunks) EXPECT_EQ(chunk.rank, 4);
  const auto points = last_points(chunks);
  EXPECT_EQ(points.at("host/cpu_percent").value, 200);
  EXPECT_EQ(points.at("host/memory_used_bytes").value, 9000);
  EXPECT_EQ(points.at("host/network_sent_bytes_per_s").value, 50);
  EXPECT_EQ(points.size(), 3U);
}

}  // namespace
}  // namespace rtrain::node
