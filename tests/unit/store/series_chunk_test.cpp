#include "host/store/series/series_chunk.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include "host/base/error.h"

namespace rtrain::store {
namespace {

using Points = std::vector<SeriesPoint>;

// Compares bits, so that NaN equals itself.
void expect_same(const Points& points) {
  const Points back = decode_series(encode_series(points));
  ASSERT_EQ(back.size(), points.size());
  for (size_t i = 0; i < points.size(); ++i) {
    EXPECT_EQ(back[i].step, points[i].step);
    EXPECT_EQ(back[i].time_ms, points[i].time_ms);
    EXPECT_EQ(std::bit_cast<int64_t>(back[i].value), std::bit_cast<int64_t>(points[i].value));
  }
}

Points points_of(size_t count, const std::function<double(size_t)>& value) {
  Points out;
  for (size_t i = 0; i < count; ++i) {
    out.push_back(
        {static_cast<int64_t>(i), 1763769600000 + static_cast<int64_t>(i * 13 / 2), value(i)});
  }
  return out;
}

TEST(SeriesChunk, GivesBackEveryBit) {
  const double infinity = std::numeric_limits<double>::infinity();
  expect_same({});
  expect_same({{0, 0, 0}});
  expect_same({{5, 1, 0.1}, {3, 2, -0.0}, {3, 1, infinity}, {-7, 3, -infinity}});
  expect_same({{0, 0, std::nan("")}, {1, 0, std::bit_cast<double>(int64_t{-1})}});
  expect_same({{std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max(), 1e308},
               {std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min(), 5e-324}});
  expect_same({{0, 0, 1.5F}, {1, 0, -3.4e38F}, {2, 0, 3.4e38F}, {3, 0, 1e-45F}});
}

TEST(SeriesChunk, GivesBackRandomPoints) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 50; ++round) {
    Points points;
    for (size_t i = 0; i < random() % kMaxChunkPoints; ++i) {
      points.push_back({static_cast<int64_t>(random() >> (random() % 64)),
                        static_cast<int64_t>(random() >> (random() % 64)),
                        std::bit_cast<double>(random())});
    }
    expect_same(points);
  }
}

// P61: at most 5 bytes for each point of a loss, 12 for noise.
TEST(SeriesChunk, IsSmall) {
  std::mt19937_64 random(7);
  std::normal_distribution<double> noise;
  const auto bytes = [](const Points& points) {
    return static_cast<double>(encode_series(points).size()) / static_cast<double>(points.size());
  };
  const auto loss = [&](size_t i) {
    return static_cast<double>(static_cast<float>(
        (2.3 * std::exp(-1e-3 * static_cast<double>(i)) + 0.1) * std::exp(0.1 * noise(random))));
  };
  EXPECT_LE(bytes(points_of(kMaxChunkPoints, loss)), 5);
  EXPECT_LE(bytes(points_of(256, loss)), 6);
  EXPECT_LE(bytes(points_of(kMaxChunkPoints, [&](size_t) { return noise(random); })), 12);
  EXPECT_LE(bytes(points_of(kMaxChunkPoints, [](size_t) { return 1e-3; })), 0.5);
}

TEST(SeriesChunk, DamagedBytesAreAnError) {
  const std::string good = encode_series(points_of(100, [](size_t i) { return std::sqrt(i); }));
  std::mt19937_64 random(7);
  for (size_t size = 0; size < good.size(); ++size) {
    EXPECT_THROW(decode_series(good.substr(0, size)), Error) << size;
  }
  for (int round = 0; round < 5000; ++round) {
    std::string bad = good;
    bad[random() % bad.size()] = static_cast<char>(random());
    try {
      decode_series(bad);
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), Code::kEnvironment);
    }
  }
}

}  // namespace
}  // namespace rtrain::store
