// The board shared by a pool's owner and its threads, without Lua.
#include "host/engine/data/job_board.h"

#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

namespace rtrain::engine {
namespace {

using namespace std::chrono_literals;
using Kind = JobBoard::Taken::Kind;

constexpr int kResults = 5;

// Threads that answer request n with the results (n, 0) … (n, kResults - 1).
class Threads {
 public:
  Threads(JobBoard& board, int count) : board_(board), count_(count) {
    for (int i = 0; i < count; ++i) threads_.emplace_back([this, i] { run(i); });
  }
  ~Threads() {
    board_.stop();
    EXPECT_TRUE(board_.wait_until_left(30s));
    for (int i = 0; i < count_; ++i) EXPECT_TRUE(board_.has_left(i));
    for (std::thread& thread : threads_) thread.join();
  }

 private:
  void run(int worker) {
    while (const auto job = board_.take(worker)) {
      for (int64_t i = 0; i < kResults && board_.has_room(*job, worker); ++i) {
        if (!board_.publish(*job, {job->request, i, std::string(100, 'x')})) break;
      }
      board_.finish(*job);
    }
    board_.leave(worker);
  }

  JobBoard& board_;
  const int count_;
  std::vector<std::thread> threads_;
};

// Takes all results of `count` jobs. Results of one job must be consecutive. Returns the jobs'
// order.
std::vector<int64_t> run_jobs(JobBoard& board, int64_t count) {
  std::vector<int64_t> order;
  int64_t submitted = 0;
  int64_t expected = 0;
  while (true) {
    while (submitted < count && board.submit(submitted)) ++submitted;
    JobBoard::Taken taken = board.next(30s);
    if (taken.kind == Kind::kNothing && submitted == count) return order;
    if (taken.kind == Kind::kNothing) continue;
    EXPECT_EQ(taken.kind, Kind::kValues);
    const int64_t job = std::get<int64_t>(taken.values[0]);
    if (expected == 0) order.push_back(job);
    EXPECT_EQ(job, order.back());
    EXPECT_EQ(std::get<int64_t>(taken.values[1]), expected);
    expected = (expected + 1) % kResults;
  }
}

TEST(JobBoard, KeepsTheOrderOfJobsWithAnyLimit) {
  for (const size_t limit : {size_t{1}, size_t{1000}, SIZE_MAX}) {
    JobBoard board({.capacity = 6, .capacity_bytes = limit}, 4);
    const Threads threads(board, 4);
    const std::vector<int64_t> order = run_jobs(board, 40);
    ASSERT_EQ(order.size(), 40U);
    for (size_t i = 0; i < order.size(); ++i) EXPECT_EQ(order[i], static_cast<int64_t>(i));
  }
}

TEST(JobBoard, WithoutOrderEveryJobComesOnce) {
  for (const size_t limit : {size_t{1}, size_t{1000}, SIZE_MAX}) {
    JobBoard board({.capacity = 6, .capacity_bytes = limit, .in_order = false}, 4);
    const Threads threads(board, 4);
    std::vector<int64_t> order = run_jobs(board, 40);
    std::sort(order.begin(), order.end());
    ASSERT_EQ(order.size(), 40U);
    for (size_t i = 0; i < order.size(); ++i) EXPECT_EQ(order[i], static_cast<int64_t>(i));
  }
}

TEST(JobBoard, ClearInTheMiddleLeavesNothingBehind) {
  JobBoard board({.capacity = 8, .capacity_bytes = 500}, 3);
  const Threads threads(board, 3);
  for (int64_t round = 0; round < 50; ++round) {
    for (int64_t i = 0; i < 8; ++i) EXPECT_TRUE(board.submit(round * 8 + i));
    for (int64_t i = 0; i < round % 4; ++i) {
      const JobBoard::Taken taken = board.next(30s);
      EXPECT_EQ(std::get<int64_t>(taken.values[0]), round * 8);
      EXPECT_EQ(std::get<int64_t>(taken.values[1]), i);
    }
    board.clear();
    EXPECT_EQ(board.in_flight(), 0U);
    EXPECT_EQ(board.stats().bytes_waiting, 0U);
  }
}

TEST(JobBoard, StopEndsBlockedWorkers) {
  JobBoard board({.capacity = 4, .capacity_bytes = 1}, 4);
  const Threads threads(board, 4);
  for (int64_t i = 0; i < 4; ++i) board.submit(i);
  EXPECT_EQ(board.next(30s).kind, Kind::kValues);
}

TEST(JobBoard, TimeOutNamesTheJob) {
  JobBoard board({}, 1);
  board.submit(int64_t{7});
  const JobBoard::Taken taken = board.next(1ms);
  EXPECT_EQ(taken.kind, Kind::kTimeout);
  EXPECT_EQ(std::get<int64_t>(taken.job->request), 7);
  EXPECT_FALSE(taken.worker.has_value());
  EXPECT_EQ(board.in_flight(), 1U);
}

TEST(JobBoard, AnErrorTakesTheLastPlace) {
  JobBoard board({}, 1);
  board.submit(int64_t{1});
  const auto job = board.take(0);
  EXPECT_TRUE(board.publish(*job, {int64_t{5}}));
  board.publish_last(*job, Error(Code::kUser, "no"));
  EXPECT_EQ(std::get<int64_t>(board.next(1s).values[0]), 5);
  EXPECT_THROW(board.next(1s), Error);
  EXPECT_EQ(board.next(1s).kind, Kind::kNothing);
}

TEST(JobBoard, CountsTensorsAndStrings) {
  auto list = std::make_shared<TreeList>();
  list->items = {std::string(1000, 'a'), at::zeros({100})};
  const size_t once = tree_bytes(Tree(list));
  EXPECT_GE(once, 1400U);
  EXPECT_LT(once, 1800U);
  auto twice = std::make_shared<TreeList>();
  twice->items = {list, list};
  EXPECT_LT(tree_bytes(Tree(twice)), once + 300);
}

}  // namespace
}  // namespace rtrain::engine
