// Pure decisions on when tensor memory triggers garbage collection.
#include <gtest/gtest.h>

#include "host/engine/memory/policy.h"

namespace rtrain::engine {
namespace {

constexpr int64_t kGiB = int64_t{1} << 30;
constexpr int64_t kMiB = int64_t{1} << 20;

TEST(Ceiling, LittleMemoryIsNeverCollectedFor) {
  Ceiling ceiling;
  EXPECT_FALSE(ceiling.is_passed(Ceiling::kSmallest, 0));
  EXPECT_TRUE(ceiling.is_passed(Ceiling::kSmallest + 1, 0));
}

TEST(Ceiling, FollowsWhatIsLiveUpAndDown) {
  Ceiling ceiling;
  ceiling.settle(4 * kGiB, 0);
  EXPECT_FALSE(ceiling.is_passed(6 * kGiB, 0));
  EXPECT_TRUE(ceiling.is_passed(6 * kGiB + 1, 0));
  EXPECT_FALSE(ceiling.is_passed(1 * kGiB, 0));  // most of it was freed
  EXPECT_TRUE(ceiling.is_passed(2 * kGiB, 0));
}

TEST(Ceiling, StaysBelowFourFifthsOfTheDevice) {
  Ceiling ceiling;
  ceiling.settle(7 * kGiB, 10 * kGiB);
  EXPECT_FALSE(ceiling.is_passed(8 * kGiB - kMiB, 10 * kGiB));
  EXPECT_TRUE(ceiling.is_passed(8 * kGiB + kMiB, 10 * kGiB));
}

TEST(Ceiling, ADeviceThatIsFullOfLiveTensorsIsNotCollectedForAtEveryTensor) {
  Ceiling ceiling;
  ceiling.settle(9 * kGiB, 10 * kGiB);
  EXPECT_FALSE(ceiling.is_passed(9 * kGiB + 256 * kMiB, 10 * kGiB));
  EXPECT_TRUE(ceiling.is_passed(9 * kGiB + 700 * kMiB, 10 * kGiB));
}

TEST(StepBoundary, CollectsWhereItTakesAHundredthOfTheStep) {
  using std::chrono::microseconds;
  StepBoundary boundary;
  EXPECT_TRUE(boundary.is_worth(microseconds(1)));  // no step was measured yet
  boundary.settle(microseconds(500));
  EXPECT_FALSE(boundary.is_worth(microseconds(49'000)));
  EXPECT_TRUE(boundary.is_worth(microseconds(50'000)));
}

TEST(StepBoundary, TriesAgainNowAndThen) {
  StepBoundary boundary;
  boundary.settle(std::chrono::seconds(1));
  int tries = 0;
  for (int i = 0; i < 2000; ++i) {
    if (!boundary.is_worth(std::chrono::microseconds(10))) continue;
    ++tries;
    boundary.settle(std::chrono::seconds(1));
  }
  EXPECT_EQ(tries, 2);
}

TEST(DeviceDebt, GrowsWithTheDeviceWithinBounds) {
  EXPECT_EQ(device_collection_bytes(kGiB), 64 * kMiB);
  EXPECT_EQ(device_collection_bytes(16 * kGiB), 256 * kMiB);
  EXPECT_EQ(device_collection_bytes(80 * kGiB), kGiB);
}

// A device that asks the rule before it allocates more memory, as LibTorch's allocator does.
class FakeDevice {
 public:
  explicit FakeDevice(int64_t total) : total_(total) {}
  void allocate(int64_t bytes) {
    if (rule_.is_worth(live_, total_, taken_)) {
      live_ -= garbage_;
      garbage_ = 0;
      ++collections_;
    }
    live_ += bytes;
    taken_ += bytes;
  }
  void drop(int64_t bytes) { garbage_ += bytes; }
  int64_t live() const { return live_; }
  int collections() const { return collections_; }

 private:
  FreeMemoryRule rule_;
  int64_t total_;
  int64_t live_ = 0;
  int64_t taken_ = 0;
  int64_t garbage_ = 0;
  int collections_ = 0;
};

TEST(FreeMemoryRule, ADeviceWithRoomIsLeftAlone) {
  FakeDevice device(64 * kGiB);
  for (int i = 0; i < 51; ++i) device.allocate(kGiB);
  EXPECT_EQ(device.collections(), 0);
}

TEST(FreeMemoryRule, GarbageNeverFillsADevice) {
  FakeDevice device(64 * kGiB);
  for (int i = 0; i < 1000; ++i) {
    device.allocate(kGiB);
    device.drop(kGiB);
    ASSERT_LE(device.live(), 53 * kGiB);
  }
}

TEST(FreeMemoryRule, AFullDeviceWithoutGarbageIsNotCollectedForAtEveryBlock) {
  FakeDevice device(64 * kGiB);
  device.allocate(60 * kGiB);
  for (int i = 0; i < 1024; ++i) device.allocate(kMiB);
  EXPECT_EQ(device.collections(), 1);
}

TEST(FreeMemoryRule, ADeviceOfUnknownSizeIsLeftAlone) {
  FreeMemoryRule rule;
  EXPECT_FALSE(rule.is_worth(kGiB, 0, kGiB));
}

TEST(AdmissionRule, RefusesWhatIsNotFree) {
  AdmissionRule rule;
  EXPECT_TRUE(rule.must_ask(20 * kGiB, 0));
  EXPECT_FALSE(rule.admits(20 * kGiB, 0, 19 * kGiB));
  EXPECT_TRUE(rule.admits(19 * kGiB, 0, 19 * kGiB));
}

TEST(AdmissionRule, SmallPartsOfTheRestGoBy) {
  AdmissionRule rule;
  EXPECT_FALSE(rule.must_ask(kMiB, 0));
  EXPECT_TRUE(rule.must_ask(kMiB, 64 * kMiB));
  EXPECT_TRUE(rule.admits(kMiB, 64 * kMiB, 800 * kMiB));
  EXPECT_FALSE(rule.must_ask(90 * kMiB, 65 * kMiB));
  EXPECT_TRUE(rule.must_ask(110 * kMiB, 65 * kMiB));
  EXPECT_TRUE(rule.must_ask(kGiB, 0));  // large requests are always checked
}

// The process still holds memory of freed tensors. Pages that were never written are not allocated
// yet.
TEST(AdmissionRule, TheProcessHoldsFreedAndUntouchedMemory) {
  EXPECT_EQ(AdmissionRule::own_free(2 * kGiB, 10 * kGiB, kGiB, 9 * kGiB), 10 * kGiB);
  EXPECT_EQ(AdmissionRule::own_free(2 * kGiB, 10 * kGiB, kGiB, 3 * kGiB), 4 * kGiB);
  EXPECT_EQ(AdmissionRule::own_free(20 * kGiB, kGiB, 15 * kGiB, 15 * kGiB), 6 * kGiB);
}

}  // namespace
}  // namespace rtrain::engine
