#include "host/train/stop/graceful_shutdown.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "host/base/text/text.h"
#include "tests/unit/run_until.h"

namespace rtrain::train {
namespace {

using std::chrono::milliseconds;
using Texts = std::vector<std::string>;

class FakeDelegate : public GracefulShutdownDelegate {
 public:
  // Logs an order such as "stop_release 2 at 4".
  void send_all(message::ToWorker order) override {
    const Value message = to_value(std::move(order));
    const std::string at = message["at"].is_nil() ? "" : cat(" at ", message["at"].as_int());
    sent.push_back(cat(message["type"].as_string(), " ", message["round"].as_int(), at));
  }
  void warn(const std::string& text) override { warnings.push_back(text); }
  void on_stop_complete() override { ++num_complete; }
  void on_grace_passed() override { ++num_passed; }

  Texts sent;
  Texts warnings;
  int num_complete = 0;
  int num_passed = 0;
};

// Two ranks. Unless a test sets other times, the shutdown waits indefinitely for answers and
// returns.
class GracefulShutdownTest : public testing::Test {
 protected:
  static constexpr double kNeverS = 1000;
  static constexpr milliseconds kNever{1000000};

  void make(GracefulShutdown::Times times) { course_.emplace(loop_, 2, delegate_, times); }
  void on_calls(int rank, int round, int64_t calls) {
    course_->on_calls(rank, {.round = round, .calls = calls});
  }
  void on_seen(int64_t index) { course_->on_seen({.index = index}); }
  // The ranks agree to stop at their next call after `calls` calls.
  void agree(int64_t calls) {
    course_->start(kNeverS);
    on_calls(0, 1, calls);
    on_calls(1, 1, 0);
  }

  loop::Loop loop_;
  FakeDelegate delegate_;
  std::optional<GracefulShutdown> course_{std::in_place, loop_, 2, delegate_,
                                          GracefulShutdown::Times{kNever, kNever}};
};

TEST_F(GracefulShutdownTest, TheRanksStopAtTheCallAfterTheHighestOne) {
  course_->start(kNeverS);
  EXPECT_EQ(delegate_.sent, Texts{"stop_prepare 1"});
  on_calls(0, 1, 3);
  EXPECT_EQ(delegate_.sent.size(), 1U) << "rank 1 has not answered";
  on_calls(1, 1, 2);
  EXPECT_EQ(delegate_.sent.back(), "stop_release 1 at 4");
}

TEST_F(GracefulShutdownTest, AFunctionThatNeverAsksStopsAtItsNextCheckpoint) {
  course_->on_committed(0);
  EXPECT_EQ(delegate_.num_complete, 0) << "no stop was requested";
  agree(0);
  course_->on_committed(1);
  EXPECT_EQ(delegate_.num_complete, 1);
}

TEST_F(GracefulShutdownTest, AFunctionThatAsksStopsBehindTheCheckpointOfTheRankToldFirst) {
  make({kNever, milliseconds(1)});
  agree(5);
  course_->on_committed(0);
  on_seen(3);
  on_seen(2);
  course_->on_committed(1);
  run_for(loop_, milliseconds(20));
  EXPECT_EQ(delegate_.num_complete, 0) << "those were reported before a rank got the request";
  course_->on_committed(2);
  EXPECT_EQ(delegate_.num_complete, 0) << "the ranks have time to return";
  run_until(loop_, [&] { return delegate_.num_complete > 0; });
}

TEST_F(GracefulShutdownTest, TheGracePeriodEndsIt) {
  course_->start(0.001);
  run_until(loop_, [&] { return delegate_.num_passed > 0; });
  EXPECT_EQ(delegate_.num_complete, 0);
}

TEST_F(GracefulShutdownTest, AnotherReasonBeginsTheGracePeriodAgainAndKeepsTheAgreement) {
  agree(0);
  course_->start(0.001);
  run_until(loop_, [&] { return delegate_.num_passed > 0; });
  EXPECT_EQ(delegate_.sent, (Texts{"stop_prepare 1", "stop_release 1 at 1"}));
}

TEST_F(GracefulShutdownTest, ARankThatDoesNotAnswerIsNamedAndItsLateAnswerBeginsAnotherRound) {
  make({milliseconds(1), kNever});
  course_->start(kNeverS);
  on_calls(0, 1, 7);
  run_until(loop_, [&] { return delegate_.sent.size() > 1; });
  EXPECT_EQ(delegate_.sent.back(), "stop_release 1") << "rank 0 goes on";
  ASSERT_EQ(delegate_.warnings.size(), 1U);
  EXPECT_NE(delegate_.warnings[0].find("rank 1 has not answered"), std::string::npos);
  on_calls(1, 1, 2);
  EXPECT_EQ(delegate_.sent.back(), "stop_prepare 2");
  on_calls(0, 2, 8);
  on_calls(1, 2, 2);
  EXPECT_EQ(delegate_.sent.back(), "stop_release 2 at 9");
}

TEST_F(GracefulShutdownTest, NobodyWaitsForARankThatHasLeft) {
  course_->start(kNeverS);
  on_calls(0, 1, 0);
  course_->on_left(1);
  EXPECT_EQ(delegate_.sent.back(), "stop_release 1 at 1");
}

TEST_F(GracefulShutdownTest, NothingComesOnceItIsClosed) {
  make({milliseconds(1), milliseconds(1)});
  course_->start(0.001);
  on_seen(0);
  course_->on_committed(0);
  course_->close();
  run_for(loop_, milliseconds(20));
  EXPECT_EQ(delegate_.sent, Texts{"stop_prepare 1"});
  EXPECT_EQ(delegate_.num_complete + delegate_.num_passed, 0);
  EXPECT_TRUE(delegate_.warnings.empty());
}

}  // namespace
}  // namespace rtrain::train
