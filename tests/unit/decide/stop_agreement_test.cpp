#include "host/decide/stop_agreement.h"

#include <gtest/gtest.h>

#include <array>
#include <condition_variable>
#include <mutex>
#include <random>
#include <thread>

#include "host/base/error.h"
#include "host/worker/stop_gate.h"

namespace rtrain::decide {
namespace {

using Type = StopOrder::Type;
constexpr std::chrono::seconds kLong{30};

TEST(StopAgreement, StopsOneAfterTheRankThatIsAhead) {
  StopAgreement agreement(3);
  EXPECT_EQ(agreement.prepare(), (StopOrder{Type::kPrepare, 1, {}}));
  EXPECT_FALSE(agreement.on_calls(0, 1, 7));
  EXPECT_FALSE(agreement.on_calls(2, 1, 9));
  EXPECT_EQ(agreement.missing(), std::vector{1});
  EXPECT_EQ(agreement.on_calls(1, 1, 8), (StopOrder{Type::kRelease, 1, 10}));
  EXPECT_EQ(agreement.at(), 10);
  EXPECT_TRUE(agreement.is_polled());
  EXPECT_FALSE(agreement.prepare()) << "agreed once for the attempt";
}

TEST(StopAgreement, NobodyCallsItYet) {
  StopAgreement agreement(2);
  agreement.prepare();
  agreement.on_calls(0, 1, 0);
  EXPECT_EQ(agreement.on_calls(1, 1, 0), (StopOrder{Type::kRelease, 1, 1}));
  EXPECT_FALSE(agreement.is_polled());
}

TEST(StopAgreement, ARankThatHasLeftIsNotWaitedForAndDoesNotCount) {
  StopAgreement agreement(3);
  agreement.on_left(0);
  agreement.prepare();
  EXPECT_FALSE(agreement.on_calls(0, 1, 50));
  EXPECT_FALSE(agreement.on_calls(1, 1, 4));
  EXPECT_EQ(agreement.on_left(2), (StopOrder{Type::kRelease, 1, 5}));
}

TEST(StopAgreement, ARoundWithoutAnAnswerIsGivenUpAndTheLateAnswerBeginsTheNext) {
  StopAgreement agreement(2);
  agreement.prepare();
  agreement.on_calls(0, 1, 3);
  EXPECT_EQ(agreement.on_deadline(), (StopOrder{Type::kRelease, 1, {}}));
  EXPECT_FALSE(agreement.at());
  EXPECT_EQ(agreement.on_calls(1, 1, 3), (StopOrder{Type::kPrepare, 2, {}}));
  EXPECT_FALSE(agreement.on_calls(0, 1, 3)) << "an answer to the first round says nothing now";
  EXPECT_FALSE(agreement.on_calls(0, 2, 5));
  EXPECT_EQ(agreement.on_calls(1, 2, 4), (StopOrder{Type::kRelease, 2, 6}));
  EXPECT_FALSE(agreement.on_deadline());
}

TEST(StopAgreement, TheLastRankLeavesAfterARoundWasGivenUp) {
  StopAgreement agreement(2);
  agreement.prepare();
  agreement.on_deadline();
  EXPECT_FALSE(agreement.on_left(0));
  EXPECT_TRUE(agreement.has_left(0));
}

TEST(StopGate, IsOpenUntilHeld) {
  worker::StopGate gate;
  EXPECT_EQ(gate.call(kLong), false);
  EXPECT_EQ(gate.call(kLong), false);
  EXPECT_EQ(gate.hold(), 2);
  EXPECT_EQ(gate.call(std::chrono::milliseconds(1)), std::nullopt);
  gate.release({});
  EXPECT_EQ(gate.call(kLong), false) << "the call that ran out of time was none";
  EXPECT_EQ(gate.hold(), 3);
  gate.release(5);
  EXPECT_EQ(gate.call(kLong), false);
  EXPECT_EQ(gate.call(kLong), true);
  EXPECT_EQ(gate.call(kLong), true) << "it stays requested";
}

TEST(StopGate, ThrowsWhenTheControllerIsGone) {
  worker::StopGate gate;
  gate.hold();
  std::thread control([&] { gate.close(); });
  EXPECT_THROW(gate.call(kLong), Error);
  control.join();
}

// The collective between two calls. synchronize() returns false for a rank whose peers have left.
class Collective {
 public:
  explicit Collective(int ranks) : ranks_(ranks) {}

  bool synchronize() {
    std::unique_lock lock(mutex_);
    const int64_t round = round_;
    if (++waiting_ == ranks_) {
      waiting_ = 0;
      ++round_;
      changed_.notify_all();
      return true;
    }
    changed_.wait(lock, [&] { return round_ != round || abandoned_; });
    return round_ != round;
  }

  void leave() {
    const std::lock_guard lock(mutex_);
    abandoned_ = true;
    changed_.notify_all();
  }

 private:
  const int ranks_;
  int waiting_ = 0;
  int64_t round_ = 0;
  bool abandoned_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
};

// The ranks are threads that alternate between a call and the collective. The test's thread acts as
// the controller and the control threads.
class Stop {
 public:
  explicit Stop(unsigned seed) : random_(seed) {}

  // Returns the number of the call at which each rank ended; 0 if it hung in the collective.
  std::array<int64_t, 3> run() {
    std::array<std::thread, kRanks> ranks;
    for (size_t rank = 0; rank < kRanks; ++rank) {
      ranks[rank] = std::thread([this, rank] { train(rank); });
    }
    pause();
    agree();
    for (std::thread& rank : ranks) rank.join();
    return ended_;
  }

 private:
  static constexpr size_t kRanks = 3;

  void train(size_t rank) {
    for (int64_t calls = 1;; ++calls) {
      if (gates_[rank].call(kLong).value_or(true)) {
        ended_[rank] = calls;
        return collective_.leave();
      }
      if (!collective_.synchronize()) return;
    }
  }

  void agree() {
    StopAgreement agreement(kRanks);
    agreement.prepare();
    std::optional<StopOrder> release;
    for (size_t rank = 0; rank < kRanks; ++rank) {
      const int64_t calls = gates_[rank].hold();
      pause();
      release = agreement.on_calls(static_cast<int>(rank), 1, calls);
    }
    for (worker::StopGate& gate : gates_) {
      gate.release(release->at);
      pause();
    }
  }

  // Busy-waits: yielding takes milliseconds on a loaded machine.
  void pause() {
    const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(random_() % 20);
    while (std::chrono::steady_clock::now() < end) continue;
  }

  std::mt19937 random_;
  std::array<worker::StopGate, kRanks> gates_;
  Collective collective_{kRanks};
  std::array<int64_t, kRanks> ended_{};
};

TEST(StopAgreement, AThousandStopsAndNoRankIsLeftBehind) {
  int hung = 0;
  for (unsigned seed = 0; seed < 1000; ++seed) {
    const auto ended = Stop(seed).run();
    if (ended[0] == 0 || ended[1] != ended[0] || ended[2] != ended[0]) ++hung;
  }
  EXPECT_EQ(hung, 0);
}

}  // namespace
}  // namespace rtrain::decide
