#include "host/pages/progress_board.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cstring>

namespace rtrain::pages {
namespace {

TEST(ProgressBoard, ThePageOfASpareBecomesThatOfARank) {
  ProgressBoard board(2);
  ProgressBoard worker(ProgressBoard::Inherited{board.fd()});
  board.page(1).reports.store(7);
  ProgressPage& of_spare = worker.page(worker.spare());
  of_spare.reports.store(9);
  board.take_spare(1);
  EXPECT_EQ(&worker.page(1), &of_spare);
  EXPECT_EQ(board.page(1).reports.load(), 9U);
  EXPECT_EQ(board.page(0).reports.load(), 0U);
  EXPECT_EQ(board.page(board.spare()).reports.load(), 7U)
      << "the next spare's, until it is renewed";
  board.renew(board.spare());
  EXPECT_EQ(worker.page(worker.spare()).reports.load(), 0U);
  EXPECT_EQ(worker.page(1).reports.load(), 9U);
}

TEST(ProgressBoard, TheOwnerDoesNotBelieveWhatAWorkerHasWrittenOver) {
  ProgressBoard board(3);
  board.take_spare(0);
  board.page(0).reports.store(5);
  ProgressPage* const before = &board.page(0);
  struct stat info {};
  ASSERT_EQ(fstat(board.fd(), &info), 0);
  const auto size = static_cast<size_t>(info.st_size);
  void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, board.fd(), 0);
  ASSERT_NE(memory, MAP_FAILED);
  ProgressBoard worker(ProgressBoard::Inherited{board.fd()});
  std::memset(static_cast<char*>(memory) + size - 4 * sizeof(uint32_t), 0xff, 4 * sizeof(uint32_t));
  EXPECT_EQ(&board.page(0), before);
  EXPECT_EQ(board.page(0).reports.load(), 5U);
  EXPECT_NO_THROW(worker.page(0));
  munmap(memory, size);
}

TEST(ProgressBoard, EachRankSeesWhenTheLastOneHasEnteredACollective) {
  ProgressBoard board(2);
  ProgressBoard worker(ProgressBoard::Inherited{board.fd()});
  const auto& last = worker.enter_collective(3, 100);
  EXPECT_EQ(last, 100U);
  EXPECT_EQ(board.enter_collective(3, 120), 120U);
  EXPECT_EQ(last, 120U);
  EXPECT_EQ(board.enter_collective(3, 110), 120U) << "an earlier one";
  EXPECT_EQ(board.enter_collective(4, 130), 130U);
  EXPECT_EQ(last, 120U);
}

}  // namespace
}  // namespace rtrain::pages
