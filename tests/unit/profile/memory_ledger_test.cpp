#include "host/profile/memory_ledger.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

#include "host/profile/memory_report.h"

namespace rtrain::profile {
namespace {

// An allocator that rounds up to 16 bytes, in front of the ledger.
class Memory {
 public:
  void take(uintptr_t address, int64_t bytes, const char* place) {
    ledger.take(address, bytes, place);
    ledger.see_live(live += (bytes + 15) / 16 * 16);
  }
  void give(uintptr_t address, int64_t bytes) {
    ledger.give(address);
    ledger.see_live(live -= (bytes + 15) / 16 * 16);
  }

  int64_t live = 1000;
  MemoryLedger ledger{1000};
};

const MemoryLine& line(const std::vector<MemoryLine>& lines, std::string_view place) {
  for (const MemoryLine& each : lines) {
    if (each.place == place) return each;
  }
  throw std::out_of_range(std::string(place));
}

TEST(MemoryLedger, ALineHasWhatItTookAndHasNotGivenBack) {
  Memory memory;
  memory.take(1, 100, "a.lua:1");
  memory.take(2, 50, "a.lua:2");
  memory.take(3, 100, "a.lua:1");
  memory.give(1, 100);
  const auto lines = memory.ledger.lines();
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0].place, "a.lua:1");
  EXPECT_EQ(lines[0].bytes, 100);
  EXPECT_EQ(lines[0].count, 1);
  EXPECT_EQ(lines[0].taken_bytes, 200);
  EXPECT_EQ(lines[0].taken_count, 2);
  EXPECT_EQ(lines[1].bytes, 50);
  EXPECT_EQ(memory.ledger.bytes(), 150);
  EXPECT_EQ(memory.ledger.num_taken(), 3);
}

TEST(MemoryLedger, ItBeginsWithoutGarbage) {
  MemoryLedger ledger{1000};
  ledger.take(1, 200, "a");
  ledger.see_live(1200);
  ledger.see_live(900);  // 300 of the bytes that were there at the beginning were garbage
  ledger.begin_without_garbage();
  EXPECT_EQ(ledger.begin_live(), 700);
  EXPECT_EQ(ledger.live(), 900);
  EXPECT_EQ(ledger.peak(), 1200);
  // Bytes that were taken without a notification do not count as present at the beginning.
  ledger.see_live(2000);
  ledger.begin_without_garbage();
  EXPECT_EQ(ledger.begin_live(), 700);
}

TEST(MemoryLedger, WhatEachLineHadAtThePeak) {
  Memory memory;
  memory.take(1, 160, "early");
  memory.take(2, 320, "big");  // 1480: the first peak
  memory.give(2, 320);
  memory.take(3, 32, "late");
  memory.take(4, 320, "big");  // 1512: the second peak
  memory.give(1, 160);
  memory.give(4, 320);
  memory.take(5, 16, "last");
  EXPECT_EQ(memory.ledger.peak(), 1512);
  EXPECT_EQ(memory.ledger.live(), 1048);
  EXPECT_EQ(memory.ledger.begin_live(), 1000);
  const auto lines = memory.ledger.lines();
  EXPECT_EQ(line(lines, "early").peak_bytes, 160);
  EXPECT_EQ(line(lines, "big").peak_bytes, 320);
  EXPECT_EQ(line(lines, "late").peak_bytes, 32);
  EXPECT_EQ(line(lines, "last").peak_bytes, 0);
  EXPECT_EQ(line(lines, "big").bytes, 0);
  EXPECT_EQ(lines[0].place, "late") << "what has most comes first";
}

TEST(MemoryLedger, APeakThatRisesWithoutAChangeOfTheLine) {
  Memory memory;
  memory.take(1, 160, "steady");
  memory.take(2, 160, "other");
  memory.take(3, 160, "other");
  EXPECT_EQ(line(memory.ledger.lines(), "steady").peak_bytes, 160);
  EXPECT_EQ(line(memory.ledger.lines(), "other").peak_bytes, 320);
}

TEST(MemoryLedger, WhatWasThereBeforeIsNotOnALine) {
  Memory memory;
  EXPECT_FALSE(memory.ledger.give(7));
  memory.ledger.see_live(memory.live -= 600);
  EXPECT_TRUE(memory.ledger.lines().empty());
  EXPECT_EQ(memory.ledger.peak(), 1000);
  EXPECT_EQ(memory.ledger.live(), 400);
}

TEST(MemoryLedger, KindsOfALineTheLargestFirstAndALineThatIsLearnedLater) {
  Memory memory;
  memory.take(1, 10, "a.lua:1");
  memory.take(2, 40, "a.lua:1");
  memory.take(3, 10, "a.lua:1");
  memory.take(4, 80, "");
  EXPECT_TRUE(memory.ledger.lacks_kind(1));
  for (const uintptr_t small : {1U, 3U}) memory.ledger.describe(small, "uint8 [10]", "b.lua:9");
  memory.ledger.describe(2, "float32 [10]", "");
  memory.ledger.describe(4, "float64 [10]", "b.lua:2");
  memory.ledger.describe(5, "of nobody", "b.lua:3");
  EXPECT_FALSE(memory.ledger.lacks_kind(1));
  EXPECT_FALSE(memory.ledger.lacks_kind(5));
  EXPECT_EQ(memory.ledger.place_of(1), "a.lua:1");
  EXPECT_EQ(memory.ledger.place_of(4), "b.lua:2");
  EXPECT_EQ(memory.ledger.place_of(5), "");
  const auto lines = memory.ledger.lines();
  ASSERT_EQ(lines.size(), 2U) << "nothing is left without a line";
  EXPECT_EQ(lines[0].place, "b.lua:2");
  EXPECT_EQ(lines[0].taken_bytes, 80);
  const auto& kinds = line(lines, "a.lua:1").kinds;
  ASSERT_EQ(kinds.size(), 2U);
  EXPECT_EQ(kinds[0].text, "float32 [10]");
  EXPECT_EQ(kinds[1].count, 2);
  EXPECT_EQ(kinds[1].bytes, 20);
}

TEST(MemoryLedger, TheMostSinceTheLastLook) {
  Memory memory;
  memory.take(1, 160, "a");
  memory.give(1, 160);
  EXPECT_EQ(memory.ledger.take_recent_peak(), 1160);
  EXPECT_EQ(memory.ledger.take_recent_peak(), 1000);
  memory.take(1, 32, "a");
  EXPECT_EQ(memory.ledger.take_recent_peak(), 1032);
}

TEST(MemoryCurve, KeepsEveryExtremumInABoundedNumberOfPoints) {
  MemoryCurve curve;
  for (int i = 0; i < 100'000; ++i) curve.add(i, i == 31'234 ? 999 : i % 7);
  const auto& points = curve.points();
  EXPECT_LE(points.size(), MemoryCurve::kMostPoints);
  EXPECT_GE(points.size(), MemoryCurve::kMostPoints / 2);
  EXPECT_EQ(points.back().seconds, 99'999);
  int64_t most = points[0].bytes;
  for (size_t i = 1; i < points.size(); ++i) {
    most = std::max(most, points[i].bytes);
    EXPECT_LT(points[i - 1].seconds, points[i].seconds);
  }
  EXPECT_EQ(most, 999);
}

TEST(MemoryReport, TheDocumentHasTheFirstOfEachAndHowManyThereAre) {
  DeviceReport device{.device = "cpu", .begin_bytes = 5, .end_bytes = 9, .peak_bytes = 12};
  device.lines = {{.place = "a.lua:1", .bytes = 4}, {.place = "a.lua:2", .bytes = 3}};
  device.tensors = {
      {.name = "x", .kind = "float32 [1]", .place = "", .bytes = 4, .is_older = true}};
  const Value document = to_value({.devices = {device}, .has_names = true}, 1);
  const Value& shown = document["devices"].as_list().at(0);
  EXPECT_EQ(shown["lines"].as_list().size(), 1U);
  EXPECT_EQ(shown["num_lines"].as_int(), 2);
  EXPECT_EQ(shown["lines"].as_list()[0]["line"].as_string(), "a.lua:1");
  EXPECT_TRUE(shown["tensors"].as_list()[0]["older"].as_bool());
  EXPECT_TRUE(document["names"].as_bool());
}

}  // namespace
}  // namespace rtrain::profile
