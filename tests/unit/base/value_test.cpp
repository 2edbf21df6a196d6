// Maps of every size keep their order and find their keys.
#include "host/base/value.h"

#include <gtest/gtest.h>

namespace rtrain {
namespace {

constexpr int kMany = 1000;

std::string name_of(int i) { return "key" + std::to_string(i); }

Map map_of(int size) {
  Map map;
  for (int i = 0; i < size; ++i) map.set(name_of(i), i);
  return map;
}

// Covers the sizes around those at which a map creates or enlarges its index.
TEST(ValueTest, MapsOfAnySizeFindEveryKeyAndNoOther) {
  for (int size = 0; size < 150; ++size) {
    const Map map = map_of(size);
    ASSERT_EQ(map.size(), static_cast<size_t>(size));
    for (int i = 0; i < size; ++i) ASSERT_EQ(map[name_of(i)].as_int(), i) << "of " << size;
    ASSERT_EQ(map.find(name_of(size)), nullptr) << "of " << size;
  }
}

TEST(ValueTest, KeysStayInTheOrderInWhichTheyCame) {
  Map map = map_of(kMany);
  map.set(name_of(7), "changed");
  int at = 0;
  for (const auto& [key, value] : map) EXPECT_EQ(std::get<std::string>(key), name_of(at++));
  EXPECT_EQ(at, kMany);
  EXPECT_EQ(map[name_of(7)].as_string(), "changed");
}

TEST(ValueTest, ADeletedKeyIsGoneAndTheOthersStay) {
  Map map = map_of(kMany);
  for (int i = 0; i < kMany; i += 3) EXPECT_TRUE(map.del(name_of(i)));
  EXPECT_FALSE(map.del(name_of(0)));
  for (int i = 0; i < kMany; ++i) {
    const Value* found = map.find(name_of(i));
    ASSERT_EQ(found == nullptr ? 0 : found->as_int(), i % 3 == 0 ? 0 : i);
  }
}

TEST(ValueTest, ACopyIsAMapOfItsOwn) {
  Map map = map_of(kMany);
  Map copy = map;
  EXPECT_EQ(copy, map);
  copy.set("one more", 1);
  copy.set(name_of(3), "changed");
  EXPECT_EQ(map.find("one more"), nullptr);
  EXPECT_EQ(map[name_of(3)].as_int(), 3);
  map = map_of(2);
  EXPECT_EQ(map.find(name_of(3)), nullptr);
  EXPECT_EQ(copy["one more"].as_int(), 1);
}

TEST(ValueTest, AMapThatWasMovedFromIsEmptyAndUsable) {
  Map map = map_of(kMany);
  const Map moved = std::move(map);
  EXPECT_EQ(moved[name_of(999)].as_int(), 999);
  map = Map();
  map.set("again", 1);
  EXPECT_EQ(map["again"].as_int(), 1);
  EXPECT_EQ(map.size(), 1U);
}

// Half a million keys: a linear search for each key would exceed the test's time limit.
TEST(ValueTest, AMapOfAnySizeIsMadeInLinearTime) {
  constexpr int kSize = 500'000;
  const Map map = map_of(kSize);
  EXPECT_EQ(map.size(), static_cast<size_t>(kSize));
  EXPECT_EQ(map[name_of(kSize - 1)].as_int(), kSize - 1);
}

TEST(ValueTest, IntegerKeysAreNoStrings) {
  Map map;
  for (int64_t i = 0; i < kMany; ++i) map.set(Key(i), i);
  for (int64_t i = 0; i < kMany; ++i) map.set(Key(i), -i);
  EXPECT_EQ(map.size(), static_cast<size_t>(kMany));
  EXPECT_EQ(map.find("5"), nullptr);
  map.set("5", "text");
  EXPECT_EQ(map["5"].as_string(), "text");
}

}  // namespace
}  // namespace rtrain
