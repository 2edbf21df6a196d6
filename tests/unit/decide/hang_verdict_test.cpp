#include "host/decide/hang_verdict.h"

#include <gtest/gtest.h>

namespace rtrain::decide {
namespace {

using Kind = HangFinding::Kind;
constexpr double kStepS = 0.25;
constexpr HangLimits kLimits{.threshold_s = 10, .busy_s = 60, .silent_s = 20};

// Ranks whose facts a test changes; time advances in quarters of a second.
struct Group {
  explicit Group(int num_ranks = 2)
      : ranks(static_cast<size_t>(num_ranks)), verdict(kLimits, num_ranks) {
    for (RankFacts& rank : ranks) rank.is_started = true;
  }

  // Returns the findings of the next `seconds`, in which only the ranks of `moving` make progress.
  std::vector<HangFinding> run(double seconds, const std::vector<size_t>& moving = {}) {
    std::vector<HangFinding> out;
    for (double t = 0; t < seconds; t += kStepS) {
      now_s += kStepS;
      for (size_t i = 0; i < ranks.size(); ++i) {
        RankFacts& rank = ranks[i];
        if (beats && silent_rank != i) rank.beat_s = now_s;
        if (!rank.wait) rank.cpu_s += kStepS;
      }
      for (const size_t rank : moving) ++ranks[rank].progress;
      for (HangFinding& each : verdict.decide(now_s, ranks)) out.push_back(std::move(each));
    }
    return out;
  }

  void wait(size_t rank, WaitKind kind, const std::string& operation, uint64_t collectives) {
    ranks[rank].wait = WaitFacts{kind, operation, now_s, "train.lua:7"};
    ranks[rank].collectives = collectives;
  }

  std::vector<RankFacts> ranks;
  HangVerdict verdict;
  double now_s = 100;
  bool beats = true;
  std::optional<size_t> silent_rank;
};

// Expects exactly one finding of this kind, rank and fatality. Returns its text.
std::string expect_one(const std::vector<HangFinding>& found, Kind kind, int rank, bool fatal) {
  EXPECT_EQ(found.size(), 1u);
  if (found.size() != 1) return {};
  EXPECT_EQ(found[0].kind, kind);
  EXPECT_EQ(found[0].rank, rank);
  EXPECT_EQ(found[0].fatal, fatal);
  return found[0].text;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// fault: SIGSTOP of a worker
TEST(HangVerdict, StoppedProcessIsNamedAndProof) {
  Group group;
  group.wait(0, WaitKind::kCollective, "all_reduce", 5);
  group.ranks[1].state = 'T';
  EXPECT_TRUE(group.run(9).empty());
  const std::string text = expect_one(group.run(2), Kind::kStopped, 1, true);
  EXPECT_TRUE(contains(text, "rank 0 waits in all_reduce"));
}

// fault: SIGSTOP of a worker
TEST(HangVerdict, ContinuedWithinTheThresholdIsNothing) {
  Group group;
  group.ranks[1].state = 'T';
  group.run(8);
  group.ranks[1].state = 'S';
  EXPECT_TRUE(group.run(8, {0, 1}).empty());
}

// Found by tests/sim: it was taken for a wait of all ranks, since its wait is longer than its stop.
TEST(HangVerdict, ARankThatIsStoppedInItsWaitIsNamedAsStopped) {
  Group group;
  group.wait(0, WaitKind::kCollective, "all_reduce", 5);
  group.ranks[1].collectives = 5;
  EXPECT_TRUE(group.run(4, {1}).empty());
  group.ranks[0].state = 'T';
  group.ranks[1].has_returned = true;
  expect_one(group.run(12), Kind::kStopped, 0, true);
}

TEST(HangVerdict, ReturnedRankThatAnotherWaitsForIsProofAfterTwoSeconds) {
  Group group;
  group.wait(0, WaitKind::kCollective, "all_reduce", 6);
  group.ranks[1].collectives = 5;
  group.ranks[1].has_returned = true;
  EXPECT_TRUE(group.run(2).empty());
  expect_one(group.run(1), Kind::kReturned, 1, true);
}

TEST(HangVerdict, ReturnedAfterTheSameCollectivesIsNothing) {
  Group group;
  group.wait(0, WaitKind::kCollective, "all_reduce", 5);
  group.ranks[1].collectives = 5;
  group.ranks[1].has_returned = true;
  EXPECT_TRUE(group.run(5).empty());
}

// fault: different collectives
TEST(HangVerdict, DifferentCollectivesNameTheRankThatDiffers) {
  Group group(3);
  for (size_t i = 0; i < 3; ++i) {
    group.wait(i, WaitKind::kCollective, "all_reduce", 4);
    group.ranks[i].calls = {{4, i == 1 ? "all_gather" : "all_reduce", "float32 [4]",
                             i == 1 ? "train.lua:9" : "train.lua:7"}};
  }
  const std::string text = expect_one(group.run(3), Kind::kMismatch, 1, true);
  EXPECT_TRUE(contains(text, "all_gather(float32 [4]) at train.lua:9 as collective 4"));
}

TEST(HangVerdict, CycleOfReportAndCollectiveIsProof) {
  Group group;
  group.wait(0, WaitKind::kReport, "report()", 5);
  group.ranks[0].reports = 2;
  group.wait(1, WaitKind::kCollective, "all_reduce", 6);
  group.ranks[1].reports = 1;
  expect_one(group.run(3), Kind::kCycle, 0, true);
}

TEST(HangVerdict, AllWaitingWithNothingMovingIsProofAtTheThreshold) {
  Group group;
  group.wait(0, WaitKind::kCollective, "all_reduce", 5);
  group.wait(1, WaitKind::kCollective, "backward", 5);
  EXPECT_TRUE(group.run(9).empty());
  expect_one(group.run(2), Kind::kAllWait, 0, true);
}

// The last rank has already returned from the collective; the rank that waited for it has not been
// scheduled yet.
TEST(HangVerdict, ARankThatHasNotWokenYetWhenTheOthersReturnIsNoHang) {
  Group group;
  group.wait(0, WaitKind::kCollective, "barrier()", 1);
  for (const HangFinding& each : group.run(12, {1})) EXPECT_FALSE(each.fatal) << each.text;
  group.ranks[1].collectives = 1;
  group.ranks[1].has_returned = true;
  EXPECT_TRUE(group.run(1.5).empty());
  group.ranks[0].wait.reset();
  EXPECT_TRUE(group.run(3, {0}).empty());
}

// behaviour: counts that differ for a moment
TEST(HangVerdict, CountsThatDifferAndAdvanceAreNothing) {
  Group group;
  for (int i = 0; i < 200; ++i) {
    group.wait(0, WaitKind::kCollective, "all_reduce", static_cast<uint64_t>(i) + 2);
    group.wait(1, WaitKind::kCollective, "all_reduce", static_cast<uint64_t>(i) + 1);
    EXPECT_TRUE(group.run(0.5, {0, 1}).empty());
  }
}

// fault: endless Lua loop
TEST(HangVerdict, BusyRankIsNamedThenProofAfterFarLonger) {
  Group group;
  group.wait(0, WaitKind::kCollective, "all_reduce", 6);
  expect_one(group.run(12), Kind::kBusy, 1, false);
  EXPECT_TRUE(group.run(40).empty());
  expect_one(group.run(10), Kind::kBusy, 1, true);
}

TEST(HangVerdict, AnnouncedWorkIsNoHang) {
  Group group;
  group.wait(0, WaitKind::kCollective, "all_reduce", 6);
  group.ranks[1].is_busy = true;
  EXPECT_TRUE(group.run(100).empty());
}

// fault: a loader that sleeps
TEST(HangVerdict, StuckLoaderIsDataAndNoProof) {
  Group group;
  group.wait(0, WaitKind::kCollective, "all_reduce", 6);
  group.wait(1, WaitKind::kData, "DataLoader", 5);
  expect_one(group.run(20), Kind::kData, 1, false);
}

// fault: a slow rank
TEST(HangVerdict, SlowRankIsNamedWithATable) {
  Group group;
  std::vector<HangFinding> all;
  for (int i = 0; i < 100; ++i) {
    group.wait(0, WaitKind::kCollective, "all_reduce", static_cast<uint64_t>(i));
    for (HangFinding& each : group.run(0.5, {0, 1})) all.push_back(std::move(each));
  }
  const std::string text = expect_one(all, Kind::kSlow, 1, false);
  EXPECT_TRUE(contains(text, "rank 0 100 %, rank 1 0 %"));
}

// fault: a node that is cut off
TEST(HangVerdict, ARankThatIsNotHeardOfIsNotCalledSlow) {
  Group group;
  std::vector<HangFinding> all;
  for (int i = 0; i < 30; ++i) {
    group.silent_rank = 1;
    group.wait(0, WaitKind::kCollective, "all_reduce", static_cast<uint64_t>(i));
    for (HangFinding& each : group.run(0.5, {0})) all.push_back(std::move(each));
  }
  for (int i = 0; i < 60; ++i) {  // the node is back, and no slower than the others
    group.silent_rank.reset();
    group.wait(i % 2 == 0 ? 0 : 1, WaitKind::kCollective, "all_reduce", static_cast<uint64_t>(i));
    group.ranks[i % 2 == 0 ? 1 : 0].wait.reset();
    for (HangFinding& each : group.run(0.5, {0, 1})) all.push_back(std::move(each));
  }
  for (const HangFinding& each : all) EXPECT_NE(each.kind, Kind::kSlow) << each.text;
}

// behaviour: a silent worker
TEST(HangVerdict, SilentProcessIsDeadAfterTheTimeout) {
  Group group;
  group.beats = false;
  EXPECT_TRUE(group.run(19, {0, 1}).empty());
  const auto found = group.run(2, {0, 1});
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].kind, Kind::kSilent);
  EXPECT_TRUE(found[0].fatal);
}

// fault: SIGSTOP of the controller
TEST(HangVerdict, TimeInWhichTheControllerWasStoppedDoesNotCount) {
  Group group;
  group.wait(0, WaitKind::kCollective, "all_reduce", 5);
  group.wait(1, WaitKind::kCollective, "all_reduce", 5);
  group.run(3);
  group.now_s += 600;
  EXPECT_TRUE(group.run(1).empty());
}

TEST(HangVerdict, WaitsThatTheControllerBoundsAreNeverAHang) {
  for (const char* operation : {"get_all_reported_checkpoints()", "stop_requested()"}) {
    Group group;
    group.wait(0, WaitKind::kBounded, operation, 5);
    group.wait(1, WaitKind::kCollective, "all_reduce", 6);
    EXPECT_TRUE(group.run(100).empty()) << operation;
  }
}

TEST(HangVerdict, WaitInTheControllersCollectiveIsNotShownWithOneOfTheGroup) {
  Group group;
  for (size_t i = 0; i < 2; ++i) {
    group.wait(i, WaitKind::kAgreement, "train.collective.barrier()", 5);
    group.ranks[i].calls = {{5, "all_reduce", "float32 [4]", "train.lua:5"}};
  }
  const std::string text = expect_one(group.run(12), Kind::kAllWait, 0, true);
  EXPECT_TRUE(contains(text, "waits in train.collective.barrier() at train.lua:7"));
}

TEST(HangVerdict, ShownTextDecidesNothing) {
  for (const char* operation : {"all_reduce", "report()", "upload of a checkpoint", ""}) {
    Group bounded;
    bounded.wait(0, WaitKind::kBounded, operation, 5);
    bounded.wait(1, WaitKind::kCollective, operation, 6);
    EXPECT_TRUE(bounded.run(100).empty()) << operation;
    Group waiting;
    for (size_t i = 0; i < 2; ++i) waiting.wait(i, WaitKind::kAgreement, operation, 5);
    expect_one(waiting.run(12), Kind::kAllWait, 0, true);
  }
}

TEST(HangVerdict, WaitForItsOwnDeviceIsNotCalledAWaitForData) {
  Group group;
  group.wait(0, WaitKind::kOwn, "torch.cuda.Event.synchronize", 5);
  group.wait(1, WaitKind::kCollective, "all_reduce", 6);
  const std::string text = expect_one(group.run(12), Kind::kData, 0, false);
  EXPECT_TRUE(contains(text, "waits in torch.cuda.Event.synchronize at train.lua:7"));
}

TEST(HangVerdict, UploadIsNeverAHang) {
  Group group;
  group.wait(0, WaitKind::kBounded, "upload of a checkpoint", 5);
  group.wait(1, WaitKind::kCollective, "all_reduce", 6);
  EXPECT_TRUE(group.run(200).empty());
}

// Simulates a NCCL collective: the rank's thread continues, or spins in the driver.
void wait_on_device(Group& group, size_t rank, uint64_t sequence) {
  group.ranks[rank].collectives = sequence;
  group.ranks[rank].device = DeviceFacts{sequence, group.now_s};
  group.ranks[rank].calls = {{sequence, "all_reduce", "float32 [4]", "train.lua:5"}};
}

TEST(HangVerdict, DeviceThatWaitsForAReturnedRankIsProofThoughItsThreadIsBusy) {
  Group group;
  wait_on_device(group, 0, 7);
  group.ranks[1].collectives = 6;
  group.ranks[1].has_returned = true;
  const std::string text = expect_one(group.run(4), Kind::kReturned, 1, true);
  EXPECT_TRUE(contains(
      text, "rank 0 waits on its device in all_reduce(float32 [4]) (collective 7) at train.lua:5"));
}

TEST(HangVerdict, RankThatTheDevicesWaitForIsNamedAndNotTheOneThatWaits) {
  Group group;
  wait_on_device(group, 0, 7);
  group.ranks[1].collectives = 6;
  const std::string text = expect_one(group.run(12), Kind::kBusy, 1, false);
  EXPECT_TRUE(contains(text, "rank 0 waits on its device in all_reduce"));
}

TEST(HangVerdict, DeviceWhoseCollectiveAllHaveCalledComputes) {
  Group group;
  for (size_t i = 0; i < 2; ++i) wait_on_device(group, i, 7);
  for (const HangFinding& each : group.run(30)) {
    EXPECT_FALSE(each.fatal) << each.text;
    EXPECT_EQ(each.kind, Kind::kBusy);
  }
}

}  // namespace
}  // namespace rtrain::decide
