#include "host/node/series/gpu_series.h"

#include <gtest/gtest.h>

namespace rtrain::node {
namespace {

machine::GpuState busy(int percent) {
  machine::GpuState out;
  out.utilization_percent = percent;
  out.used_bytes = 1000;
  out.processes = {{4711, 600}, {4712, std::nullopt}};
  return out;
}

std::map<std::string, store::SeriesChunk> by_key(const std::vector<store::SeriesChunk>& chunks) {
  std::map<std::string, store::SeriesChunk> out;
  for (const store::SeriesChunk& chunk : chunks) out[chunk.key] = chunk;
  return out;
}

TEST(GpuSeries, ASampleIsAPointOfEachValueThatTheDeviceTells) {
  GpuSeries series(3);
  const auto chunks = by_key(series.add({.rank = 1, .place = 0, .pid = 4711}, busy(97), 12345));
  ASSERT_EQ(chunks.size(), 4U);  // power and temperature are not available
  const store::SeriesChunk& chunk = chunks.at("gpu/utilization_percent");
  EXPECT_EQ(chunk.attempt, 3);
  EXPECT_EQ(chunk.rank, 1);
  EXPECT_EQ(store::decode_series(chunk.data), (std::vector<store::SeriesPoint>{{12, 12345, 97}}));
  EXPECT_EQ(store::decode_series(chunks.at("gpu/memory_own_bytes").data)[0].value, 600);
  EXPECT_EQ(store::decode_series(chunks.at("gpu/slowed").data)[0].value, 0);
}

TEST(GpuSeries, ASecondDeviceHasKeysOfItsOwnAndAForeignProcessIsNotTheRanks) {
  GpuSeries series(1);
  const auto chunks = by_key(series.add({.rank = 0, .place = 1, .pid = 1}, busy(5), 0));
  EXPECT_TRUE(chunks.contains("gpu/1/memory_used_bytes"));
  EXPECT_FALSE(chunks.contains("gpu/1/memory_own_bytes"));
}

TEST(GpuSeries, ADeviceThatDoesNotAnswerHasNoPoint) {
  GpuSeries series(1);
  EXPECT_TRUE(series.add({.rank = 0, .place = 0, .pid = 1}, {}, 0).empty());
}

TEST(GpuSeries, ChunksGrowAndEnd) {
  GpuSeries series(1);
  std::map<int64_t, store::SeriesChunk> last;
  for (int i = 0; i < 300; ++i) {
    const auto chunks = by_key(series.add({.rank = 0, .place = 0, .pid = 1}, busy(i), i * 1000));
    const store::SeriesChunk& chunk = chunks.at("gpu/utilization_percent");
    last[chunk.number] = chunk;
  }
  int64_t points = 0;
  for (const auto& [number, chunk] : last) points += chunk.count;
  EXPECT_EQ(points, 300);
  EXPECT_GT(last.size(), 1U);
  EXPECT_EQ(store::decode_series(last.rbegin()->second.data).back().value, 299);
}

}  // namespace
}  // namespace rtrain::node
