#include "host/train/group/key_value_store.h"

#include <gtest/gtest.h>

#include "host/base/error.h"

namespace rtrain::train {
namespace {

message::StoreGet get(const char* key, int id) { return {.id = id, .key = key}; }
message::StoreSet set(const char* key, const char* value) { return {.key = key, .value = value}; }

TEST(KeyValueStore, GetAnswersAtOnceWhenTheKeyIsThere) {
  KeyValueStore store;
  EXPECT_TRUE(store.call(0, set("a", "1")).empty());
  const auto answers = store.call(1, get("a", 7));
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_EQ(answers[0].rank, 1);
  EXPECT_EQ(answers[0].id, 7);
  EXPECT_EQ(answers[0].value, Value("1"));
}

TEST(KeyValueStore, EveryWaiterIsAnsweredByTheSet) {
  KeyValueStore store;
  EXPECT_TRUE(store.call(0, get("a", 1)).empty());
  EXPECT_TRUE(store.call(1, get("a", 2)).empty());
  EXPECT_EQ(store.call(2, set("a", "x")).size(), 2U);
  EXPECT_TRUE(store.call(2, set("a", "y")).empty());
}

TEST(KeyValueStore, WaitNeedsAllItsKeys) {
  KeyValueStore store;
  EXPECT_TRUE(store.call(0, message::StoreWait{.id = 3, .keys = {"a", "b"}}).empty());
  EXPECT_TRUE(store.call(1, set("b", "")).empty());
  const auto answers = store.call(1, set("a", ""));
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_EQ(answers[0].id, 3);
}

TEST(KeyValueStore, ACancelledWaitIsNeverAnswered) {
  KeyValueStore store;
  store.call(0, get("a", 1));
  store.call(1, get("a", 1));
  store.cancel(0, 1);
  const auto answers = store.call(1, set("a", "x"));
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_EQ(answers[0].rank, 1);
}

TEST(KeyValueStore, AddCountsInDecimalAndWakesWaiters) {
  KeyValueStore store;
  store.call(1, get("n", 5));
  const auto answers = store.call(0, message::StoreAdd{.id = 1, .key = "n", .delta = 3});
  ASSERT_EQ(answers.size(), 2U);
  EXPECT_EQ(answers[0].value, Value("3"));
  EXPECT_EQ(answers[1].value, Value(3));
  EXPECT_EQ(store.call(0, message::StoreAdd{.id = 2, .key = "n", .delta = -5})[0].value, Value(-2));
}

TEST(KeyValueStore, AddToWhatIsNoNumberIsRefused) {
  KeyValueStore store;
  store.call(0, set("a", "text"));
  EXPECT_THROW(store.call(0, message::StoreAdd{.id = 1, .key = "a", .delta = 1}), Error);
}

TEST(KeyValueStore, CompareSetChangesOnlyWhatWasExpected) {
  KeyValueStore store;
  const auto compare_set = [&](const char* expected, const char* desired) {
    return store
        .call(
            0,
            message::StoreCompareSet{.id = 1, .key = "k", .expected = expected, .desired = desired})
        .back()
        .value;
  };
  EXPECT_EQ(compare_set("other", "x"), Value("other"));
  EXPECT_EQ(compare_set("", "x"), Value("x"));
  EXPECT_EQ(compare_set("y", "z"), Value("x"));
  EXPECT_EQ(compare_set("x", "z"), Value("z"));
}

TEST(KeyValueStore, DeleteCheckAndCount) {
  KeyValueStore store;
  store.call(0, set("a", "1"));
  EXPECT_EQ(store.call(0, message::StoreCheck{.keys = {"a"}})[0].value, Value(true));
  EXPECT_EQ(store.call(0, message::StoreNumKeys{})[0].value, Value(1));
  EXPECT_EQ(store.call(0, message::StoreDelete{.key = "a"})[0].value, Value(true));
  EXPECT_EQ(store.call(0, message::StoreDelete{.key = "a"})[0].value, Value(false));
  EXPECT_EQ(store.call(0, message::StoreCheck{.keys = {"a"}})[0].value, Value(false));
}

}  // namespace
}  // namespace rtrain::train
