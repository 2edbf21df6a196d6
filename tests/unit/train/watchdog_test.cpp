#include "host/train/watch/watchdog.h"
#include "host/node/workers/page_facts.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <string>
#include <vector>

#include "host/base/clock.h"
#include "host/base/text/text.h"
#include "host/pages/progress_board.h"
#include "tests/unit/run_until.h"

namespace rtrain::train {
namespace {

using std::chrono::milliseconds;
using Texts = std::vector<std::string>;

// Records the watchdog's actions in order.
class FakeDelegate : public WatchdogDelegate {
 public:
  void send(int rank, message::ToWorker message) override {
    last_sent = std::get<message::AskStack>(message);
    log.push_back(cat("send stack to rank ", rank));
  }
  void warn(const std::string& text) override {
    log.emplace_back("warn");
    warning = text;
  }
  std::string diagnosis_folder() const override { return "/run/diag/now"; }
  void save_diagnosis(const std::string& folder,
                      std::vector<std::pair<std::string, std::string>> saved) override {
    log.push_back(cat("save in ", folder));
    files = std::move(saved);
  }
  void on_hang(int rank, const Error& its_error) override {
    log.push_back(cat("hang of rank ", rank));
    error = its_error;
  }
  void on_straggler(const decide::Straggler& found) override {
    log.push_back(cat("rank ", found.rank, " is slow"));
  }
  void on_work(const std::vector<double>& /*work_s*/) override {}
  decide::RankFacts facts(int rank) const override {
    return node::read_facts(board.page(rank), pids.at(static_cast<size_t>(rank)));
  }

  bool has(const std::string& what) const {
    return std::find(log.begin(), log.end(), what) != log.end();
  }
  std::string file(const std::string& name) const {
    for (const auto& [its_name, text] : files) {
      if (its_name == name) return text;
    }
    return "";
  }

  pages::ProgressBoard board{2};
  std::vector<int> pids;
  Texts log;
  std::string warning;
  std::vector<std::pair<std::string, std::string>> files;
  std::optional<Error> error;
  message::AskStack last_sent;
};

// Two ranks, which are idle processes.
class WatchdogTest : public testing::Test {
 protected:
  static constexpr double kNeverS = 1000;
  static constexpr milliseconds kNever{1000000};

  ~WatchdogTest() override {
    watchdog_.reset();
    for (const int pid : delegate_.pids) {
      kill(pid, SIGKILL);
      waitpid(pid, nullptr, 0);
    }
  }

  void make(const decide::HangLimits& limits, milliseconds stacks = milliseconds(1)) {
    watchdog_.emplace(loop_, 2, limits, delegate_, Watchdog::Times{milliseconds(1), stacks});
    for (int rank = 0; rank < 2; ++rank) {
      delegate_.pids.push_back(start_rank());
      watchdog_->set_pid(rank, delegate_.pids.back());
    }
  }
  void stop(int rank) {
    const int pid = delegate_.pids.at(static_cast<size_t>(rank));
    ASSERT_EQ(kill(pid, SIGSTOP), 0);
    ASSERT_EQ(waitpid(pid, nullptr, WUNTRACED), pid);
  }
  // Prevents that the rank's state counts as a hang.
  void set_busy(int rank) { delegate_.board.page(rank).busy.write({monotonic_s() + kNeverS, {}}); }
  void answer(int rank, const char* line) {
    watchdog_->on_stack(
        rank, {.id = delegate_.last_sent.id, .state = "is busy", .lua = {line}, .threads = {}});
  }
  void run_until_hang() {
    run_until(loop_, [this] { return delegate_.error.has_value(); });
  }

  loop::Loop loop_;
  FakeDelegate delegate_;
  std::optional<Watchdog> watchdog_;

 private:
  int start_rank() {
    const int pid = fork();
    while (pid == 0) pause();
    return pid;
  }
};

TEST_F(WatchdogTest, AStoppedRankFailsItsGroupOnceAfterAllStacksAreSaved) {
  make({.threshold_s = 0.01, .busy_s = kNeverS, .silent_s = kNeverS});
  set_busy(0);
  stop(1);
  watchdog_->set_started(0);
  watchdog_->set_started(1);
  run_until_hang();
  EXPECT_EQ(delegate_.log,
            (Texts{"send stack to rank 0", "save in /run/diag/now", "warn", "hang of rank 1"}))
      << "a stopped process is not asked";
  EXPECT_EQ(delegate_.error->code(), Code::kTimeout);
  const std::string who = cat("rank 1 (pid ", delegate_.pids[1], ") is stopped (SIGSTOP)");
  EXPECT_NE(delegate_.error->message().find(who), std::string::npos);
  EXPECT_NE(delegate_.file("verdict.txt").find(who), std::string::npos);
  EXPECT_NE(delegate_.file("stacks.txt").find("stopped (SIGSTOP)"), std::string::npos);
  EXPECT_NE(delegate_.warning.find("/run/diag/now"), std::string::npos);
  run_for(loop_, milliseconds(30));
  EXPECT_EQ(delegate_.log.size(), 4U) << "nothing comes after the verdict";
}

TEST_F(WatchdogTest, ASilentRankFailsItsGroupWithTheLineWhereItIs) {
  make({.threshold_s = kNeverS, .busy_s = kNeverS, .silent_s = 0.01}, kNever);
  watchdog_->set_started(1);
  run_until(loop_, [this] { return delegate_.has("send stack to rank 1"); });
  answer(0, "train.lua:3");
  EXPECT_FALSE(delegate_.error) << "rank 1 may still answer";
  answer(1, "train.lua:7");
  ASSERT_TRUE(delegate_.error);
  EXPECT_NE(delegate_.error->message().find("no heartbeat"), std::string::npos);
  EXPECT_NE(delegate_.error->traceback().find("train.lua:7"), std::string::npos);
  EXPECT_NE(delegate_.file("stacks.txt").find("train.lua:3"), std::string::npos);
}

TEST_F(WatchdogTest, AHeartbeatIsNoSilence) {
  make({.threshold_s = kNeverS, .busy_s = kNeverS, .silent_s = 5});
  watchdog_->set_started(0);
  double beat_s = 0;
  int rounds = 0;
  run_until(loop_, [&] {
    delegate_.board.page(0).beat_s = ++beat_s;
    return ++rounds > 50;
  });
  EXPECT_TRUE(delegate_.log.empty());
}

TEST_F(WatchdogTest, AVerdictThatComesAfterTheEndOfItsAttemptIsDropped) {
  make({.threshold_s = kNeverS, .busy_s = kNeverS, .silent_s = 0.01}, kNever);
  watchdog_->set_started(1);
  run_until(loop_, [this] { return delegate_.has("send stack to rank 1"); });
  watchdog_->stop();
  answer(0, "train.lua:3");
  answer(1, "train.lua:7");
  EXPECT_EQ(delegate_.log, (Texts{"send stack to rank 0", "send stack to rank 1"}));
}

TEST_F(WatchdogTest, WhereARankIsGoneItsEndDecides) {
  make({.threshold_s = 0.001, .busy_s = kNeverS, .silent_s = 0.001});
  stop(1);
  watchdog_->set_gone(0);
  watchdog_->set_started(1);
  run_for(loop_, milliseconds(50));
  EXPECT_TRUE(delegate_.log.empty());
}

TEST_F(WatchdogTest, ARankThatHasReturnedMayBeSilent) {
  make({.threshold_s = 0.001, .busy_s = kNeverS, .silent_s = 0.001});
  watchdog_->set_returned(1);
  watchdog_->set_started(1);
  run_for(loop_, milliseconds(50));
  EXPECT_TRUE(delegate_.log.empty());
}

TEST_F(WatchdogTest, StacksAreSavedOnRequestAndNobodyWaitsForTheGone) {
  make({}, kNever);
  bool is_saved = false;
  watchdog_->save_stacks("a collective has timed out", [&] { is_saved = true; });
  answer(1, "train.lua:7");
  EXPECT_FALSE(is_saved);
  watchdog_->set_gone(0);
  EXPECT_TRUE(is_saved);
  EXPECT_EQ(delegate_.file("verdict.txt"), "a collective has timed out\n");
  EXPECT_EQ(delegate_.last_sent.folder, "/run/diag/now");
  EXPECT_FALSE(delegate_.error) << "a question is not a verdict";
}

}  // namespace
}  // namespace rtrain::train
