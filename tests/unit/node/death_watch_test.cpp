#include "host/node/workers/death_watch.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <optional>
#include <random>

#include "host/loop/timer.h"
#include "host/worker/progress.h"

namespace rtrain::node {
namespace {

// Ranks in separate processes; each takes its progress page and then obeys commands.
class DeathWatchTest : public ::testing::Test {
 protected:
  static constexpr int kRanks = 3;
  enum class Order : char { kLeave, kDie };

  void SetUp() override {
    for (int rank = 0; rank < kRanks; ++rank) start_rank(rank);
  }

  void TearDown() override {
    watch_.reset();
    for (const int pid : pids_) {
      kill(pid, SIGKILL);
      waitpid(pid, nullptr, 0);
    }
    for (const int fd : orders_) close(fd);
  }

  void order(int rank, Order what) {
    ASSERT_EQ(write(orders_[static_cast<size_t>(rank)], &what, 1), 1);
  }

  // Returns once a rank is reported as dying.
  void run_until_dying() {
    loop::Timer deadline(loop_, [this] { loop_.stop(); });
    deadline.start(std::chrono::seconds(30));
    loop_.run();
  }

  pages::ProgressBoard board_{kRanks};
  loop::Loop loop_;
  std::vector<int> pids_;
  std::vector<int> orders_;
  std::vector<int> dying_;
  std::optional<DeathWatch> watch_{std::in_place, loop_, board_, [this](int rank) {
                                     dying_.push_back(rank);
                                     loop_.stop();
                                   }};

 private:
  void start_rank(int rank) {
    int order[2];
    int ready[2];
    ASSERT_EQ(pipe(order), 0);
    ASSERT_EQ(pipe(ready), 0);
    const int pid = fork();
    if (pid == 0) {
      live(board_.page(rank), order[0], ready[1]);
      _exit(0);
    }
    pids_.push_back(pid);
    orders_.push_back(order[1]);
    char byte = 0;
    ASSERT_EQ(read(ready[0], &byte, 1), 1);
    for (const int fd : {order[0], ready[0], ready[1]}) close(fd);
  }

  static void live(pages::ProgressPage& page, int orders, int ready) {
    pthread_mutex_lock(&page.alive);
    page.attached = 1;
    Order order{};
    if (write(ready, "", 1) != 1 || read(orders, &order, 1) != 1) return;
    if (order == Order::kDie) raise(SIGKILL);
    pthread_mutex_unlock(&page.alive);
  }
};

TEST_F(DeathWatchTest, TellsWhoHasDied) {
  for (int rank = 0; rank < kRanks; ++rank) watch_->start(rank);
  order(1, Order::kDie);
  run_until_dying();
  EXPECT_EQ(dying_, std::vector{1});
  kill(pids_[2], SIGKILL);
  run_until_dying();
  EXPECT_EQ(dying_, (std::vector{1, 2}));
}

TEST_F(DeathWatchTest, AnEndInOrderIsNotToldAndADeathBeforeTheWatchIs) {
  order(0, Order::kLeave);
  waitpid(pids_[0], nullptr, 0);
  kill(pids_[1], SIGKILL);
  waitpid(pids_[1], nullptr, 0);
  watch_->start(0);
  watch_->start(1);
  run_until_dying();
  EXPECT_EQ(dying_, std::vector{1});
}

TEST_F(DeathWatchTest, ARankWithoutAPageIsNotWatched) {
  board_.page(0).attached = 0;
  watch_->start(0);
  watch_->start(1);
  kill(pids_[0], SIGKILL);
  waitpid(pids_[0], nullptr, 0);
  order(1, Order::kDie);
  run_until_dying();
  EXPECT_EQ(dying_, std::vector{1});
}

TEST_F(DeathWatchTest, AMutexOfAnyBytesEndsNobody) {
  std::mt19937 random(1);
  for (const bool is_random : {false, true}) {
    for (int rank = 0; rank < kRanks; ++rank) {
      auto* bytes = reinterpret_cast<unsigned char*>(&board_.page(rank).alive);
      for (size_t i = 0; i < sizeof(pthread_mutex_t); ++i) {
        bytes[i] = is_random ? static_cast<unsigned char>(random()) : 0xff;
      }
      watch_->start(rank);
    }
    for (int rank = 0; rank < kRanks; ++rank) watch_->forget(rank);
  }
}

// A zygote may die after it has forked a rank and before it reports the rank, which is then started
// again.
TEST_F(DeathWatchTest, TheNextProcessOfARankTakesThePageOfADeadOne) {
  board_.page(1).collectives = 7;
  kill(pids_[1], SIGKILL);
  waitpid(pids_[1], nullptr, 0);
  pids_[1] = fork();
  if (pids_[1] == 0) {
    const worker::Progress progress(board_.fd(), 1);
    const bool is_new = board_.page(1).collectives == 0;
    raise(is_new ? SIGKILL : SIGABRT);
  }
  int status = 0;
  waitpid(pids_[1], &status, 0);
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
  watch_->start(1);
  run_until_dying();
  EXPECT_EQ(dying_, std::vector{1}) << "its death is seen like any other";
}

TEST_F(DeathWatchTest, EndsWhileEverybodyLives) {
  for (int rank = 0; rank < kRanks; ++rank) watch_->start(rank);
  watch_.reset();
  EXPECT_TRUE(dying_.empty());
}

}  // namespace
}  // namespace rtrain::node
