// What ranks commit: parts by step, which ranks are ready, and which are absent.
#include "host/pages/commit_board.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <future>
#include <thread>

namespace rtrain::pages {
namespace {

using Part = CommitBoard::Part;
using namespace std::chrono_literals;

auto soon() { return std::chrono::steady_clock::now() + 50ms; }
auto late() { return std::chrono::steady_clock::now() + 20s; }

Code code_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& e) {
    return e.code();
  }
  return Code::kInternal;
}

TEST(CommitBoard, KeepsTheLastTwoStepsOfEachPartOfEachRank) {
  CommitBoard board(3);
  const std::string large(300'000, 'x');
  board.write(1, Part::kPrepared, 1, "one");
  board.write(1, Part::kPrepared, 2, large);
  board.write(2, Part::kCommitted, 1, "");
  EXPECT_EQ(board.read(1, Part::kPrepared, 1), "one");
  EXPECT_EQ(board.read(1, Part::kPrepared, 2), large);
  EXPECT_EQ(board.read(2, Part::kCommitted, 1), "");
  EXPECT_EQ(board.read(1, Part::kCommitted, 1), std::nullopt);
  EXPECT_EQ(board.read(0, Part::kPrepared, 1), std::nullopt);
  EXPECT_EQ(board.read(0, Part::kPrepared, 0), std::nullopt);
  board.write(1, Part::kPrepared, 3, "three");
  EXPECT_EQ(board.read(1, Part::kPrepared, 1), std::nullopt) << "step 3 has its place";
  EXPECT_EQ(board.read(1, Part::kPrepared, 2), large);
}

// Any rank can overwrite the shared memory, so sizes in it must be checked.
TEST(CommitBoard, SizesThatNobodyHasWrittenAreNotBelieved) {
  CommitBoard board(2);
  board.write(0, Part::kPrepared, 2, "two");
  const std::string before = [&] {
    std::string out(8192, '\0');
    EXPECT_GT(pread(board.fd(), out.data(), out.size(), 0), 4096);
    return out;
  }();
  // Finds the size, which follows the step of the entry.
  const uint64_t step = 2;
  const size_t size_at =
      before.find(std::string_view(reinterpret_cast<const char*>(&step), 8), 4096) + 8;
  ASSERT_LT(size_at, before.size());
  for (const uint64_t size : {UINT64_MAX, uint64_t{1} << 63, uint64_t{1} << 33, uint64_t{9000}}) {
    ASSERT_EQ(pwrite(board.fd(), &size, 8, static_cast<off_t>(size_at)), 8);
    EXPECT_EQ(board.read(0, Part::kPrepared, 2), std::nullopt) << size;
  }
  const std::string ones(8, '\xff');
  ASSERT_EQ(pwrite(board.fd(), ones.data(), ones.size(), 4), 8) << "the first and the last rank";
  EXPECT_THROW(CommitBoard(CommitBoard::Inherited{board.fd()}), Error);
}

TEST(CommitBoard, NobodyWaitsForARankThatIsLeftOut) {
  CommitBoard board(3);
  board.set_ready(0, 1);
  board.set_ready(2, 1);
  board.set_absent(1, true);
  EXPECT_EQ(code_of([&] { board.wait(1, late()); }), Code::kPeerLost);
  board.leave_out(1);
  board.wait(1, soon());
  EXPECT_TRUE(board.is_node_ready(1));
  EXPECT_EQ(code_of([&] { board.wait(2, soon()); }), Code::kTimeout) << "the others are not there";
}

TEST(CommitBoard, OtherProcessesSeeTheSame) {
  CommitBoard board(2);
  CommitBoard other(CommitBoard::Inherited{board.fd()});
  EXPECT_EQ(other.size(), 2);
  other.write(1, Part::kPrepared, 7, "seven");
  EXPECT_EQ(board.read(1, Part::kPrepared, 7), "seven");
}

TEST(CommitBoard, WaitsUntilAllAreReady) {
  CommitBoard board(2);
  board.set_ready(0, 1);
  EXPECT_EQ(code_of([&] { board.wait(1, soon()); }), Code::kTimeout);
  std::thread other([&] {
    std::this_thread::sleep_for(20ms);
    board.set_ready(1, 1);
  });
  board.wait(1, late());
  other.join();
  EXPECT_EQ(code_of([&] { board.wait(2, soon()); }), Code::kTimeout);
}

TEST(CommitBoard, ARankThatIsAbsentEndsTheWaitUnlessItWasReady) {
  CommitBoard board(3);
  board.set_ready(0, 5);
  board.set_ready(1, 4);
  board.set_ready(2, 5);
  auto waiting =
      std::async(std::launch::async, [&] { return code_of([&] { board.wait(5, late()); }); });
  std::this_thread::sleep_for(20ms);
  board.set_absent(2, true);  // rank 2 was ready before it left
  board.set_absent(1, true);
  EXPECT_EQ(waiting.get(), Code::kPeerLost);
  board.wait(4, soon());
  board.set_absent(1, false);
  board.set_ready(1, 5);
  board.wait(5, soon());
}

TEST(CommitBoard, IsOfTheRanksOfOneNode) {
  CommitBoard board(4, 2);
  EXPECT_FALSE(board.is_node_ready(1));
  board.set_ready(2, 1);
  board.set_ready(3, 2);
  EXPECT_TRUE(board.is_node_ready(1));
  EXPECT_FALSE(board.is_node_ready(2));
  board.wait(1, soon());
  CommitBoard other(CommitBoard::Inherited{board.fd()});
  EXPECT_TRUE(other.is_node_ready(1));
}

TEST(CommitBoard, WaitsForTheRanksOfOtherNodesUntilOneOfThemIsLost) {
  constexpr auto kAll = CommitBoard::Scope::kAllHosts;
  CommitBoard board(2);
  board.set_ready(0, 5);
  board.set_ready(1, 5);
  EXPECT_EQ(code_of([&] { board.wait(5, soon(), kAll); }), Code::kTimeout);
  auto waiting =
      std::async(std::launch::async, [&] { return code_of([&] { board.wait(5, late(), kAll); }); });
  std::this_thread::sleep_for(20ms);
  board.set_others_ready(4);
  board.set_others_lost(true);
  EXPECT_EQ(waiting.get(), Code::kPeerLost);
  board.wait(4, soon(), kAll);  // the others have reached step 4 before
  board.set_others_lost(false);
  EXPECT_EQ(code_of([&] { board.wait(4, soon(), kAll); }), Code::kTimeout) << "another attempt";
  board.set_others_ready(5);
  board.wait(5, soon(), kAll);
}

TEST(CommitBoard, ManyStepsKeepThreadsTogether) {
  constexpr int kRanks = 3;
  constexpr uint64_t kSteps = 2000;
  CommitBoard board(kRanks);
  std::vector<std::thread> ranks;
  std::atomic<int> wrong{0};
  for (int rank = 0; rank < kRanks; ++rank) {
    ranks.emplace_back([&, rank] {
      for (uint64_t step = 1; step <= kSteps; ++step) {
        board.write(rank, Part::kPrepared, step, std::to_string(step));
        board.set_ready(rank, step);
        board.wait(step, late());
        const auto seen = board.read((rank + 1) % kRanks, Part::kPrepared, step);
        if (seen != std::to_string(step)) ++wrong;
      }
    });
  }
  for (auto& each : ranks) each.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace rtrain::pages
