#include "host/worker/peer_waits.h"

#include <gtest/gtest.h>

namespace rtrain::worker {
namespace {

TEST(PeerWaits, LastUntilTheLastRankHasEntered) {
  std::atomic<uint64_t> last = 110;
  PeerWaits waits;
  waits.add(0, 1000);
  EXPECT_EQ(waits.ticks(), 0U) << "no collective yet";
  waits.enter(110, last);
  last = 150;  // another rank
  waits.add(105, 200);
  EXPECT_EQ(waits.ticks(), 45U);
  waits.add(205, 300);
  EXPECT_EQ(waits.ticks(), 45U) << "that collective is over";
}

TEST(PeerWaits, WhoEntersLastWaitsForNobody) {
  std::atomic<uint64_t> last = 110;
  PeerWaits waits;
  waits.enter(110, last);
  waits.add(100, 500);
  EXPECT_EQ(waits.ticks(), 0U);
}

TEST(PeerWaits, NotLongerThanTheCommunication) {
  std::atomic<uint64_t> last = 110;
  PeerWaits waits;
  waits.enter(110, last);
  last = 900;  // another rank is at a later collective, which has the same place
  waits.add(105, 200);
  EXPECT_EQ(waits.ticks(), 95U);
}

}  // namespace
}  // namespace rtrain::worker
