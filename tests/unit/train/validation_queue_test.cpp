#include "host/train/checkpoints/validation_queue.h"

#include <gtest/gtest.h>

namespace rtrain::train {
namespace {

store::CheckpointRow checkpoint(const std::string& name, int64_t index) {
  store::CheckpointRow out;
  out.name = name;
  out.index = index;
  return out;
}

TEST(ValidationQueue, GivesOneAtATimeInTheirOrder) {
  ValidationQueue queue(1);
  queue.add(checkpoint("a", 0));
  queue.add(checkpoint("b", 1));
  const auto first = queue.next();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->name, "a");
  EXPECT_FALSE(queue.next());
  queue.end(*first);
  EXPECT_EQ(queue.next()->name, "b");
  EXPECT_EQ(queue.size(), 1u);
}

TEST(ValidationQueue, GivesAsManyAsAreAllowed) {
  ValidationQueue queue(2);
  for (const char* name : {"a", "b", "c"}) queue.add(checkpoint(name, 0));
  EXPECT_TRUE(queue.next());
  EXPECT_TRUE(queue.next());
  EXPECT_FALSE(queue.next());
}

TEST(ValidationQueue, KnowsTheFirstReportThatIsNotDone) {
  ValidationQueue queue(1);
  EXPECT_FALSE(queue.first_index());
  queue.add(checkpoint("b", 7));
  queue.add(checkpoint("a", 3));
  EXPECT_EQ(queue.first_index(), 3);
  const auto running = queue.next();
  queue.end(*running);
  EXPECT_EQ(queue.first_index(), 3);
  EXPECT_EQ(queue.begin_all().size(), 1u);
  EXPECT_FALSE(queue.next());
  queue.clear();
  EXPECT_TRUE(queue.is_empty());
}

}  // namespace
}  // namespace rtrain::train
