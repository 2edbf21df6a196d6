// host/pages/progress_board.h: the shared memory that holds the progress pages of one attempt.
//
// Made by the controller as a memory file; a worker maps the descriptor that it inherits. Both see
// the same pages. The mapping lives as long as the object.
#pragma once

#include <cstddef>

#include "host/pages/progress_page.h"

namespace rtrain::pages {

class ProgressBoard {
 public:
  // For the controller. Throws Error(kEnvironment).
  explicit ProgressBoard(int num_ranks);
  // For a worker: maps the board behind the descriptor, which stays the caller's. Throws
  // Error(kInternal) when it is none of this build.
  struct Inherited {
    int fd;
  };
  explicit ProgressBoard(Inherited inherited);
  ~ProgressBoard();
  ProgressBoard(const ProgressBoard&) = delete;
  ProgressBoard& operator=(const ProgressBoard&) = delete;

  int fd() const { return fd_; }  // -1 in a worker
  int size() const { return num_ranks_; }
  ProgressPage& page(int rank);
  const ProgressPage& page(int rank) const;
  // The rank's process is gone and nobody looks for its death any more: the page is as in the
  // beginning, for the process that takes its place.
  void renew(int rank);
  // Of checkpoints, by all ranks so far: deadlines of whoever waits for them stop while it grows.
  uint64_t copied_bytes() const;

 private:
  struct Header {
    uint32_t version;
    uint32_t num_ranks;
    uint64_t page_bytes;
  };
  static constexpr size_t kHeaderBytes = 4096;

  void map(int fd, size_t size);
  std::byte* place(int rank) const;

  int fd_ = -1;
  int num_ranks_ = 0;
  std::byte* memory_ = nullptr;
  size_t size_bytes_ = 0;
};

}  // namespace rtrain::pages
