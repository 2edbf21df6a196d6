// host/pages/progress_board.h: the shared memory that holds the progress pages of one attempt.
//
// The controller, or a node's agent, creates it as a memory file. A worker maps the descriptor that
// it inherits. All see the same pages. The mapping lives as long as the object.
//
// A page belongs to a process, and a rank has the page of its process. One page more is that of a
// spare, a process that has no rank yet: `take_spare` makes it the page of a rank.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "host/pages/progress_page.h"

namespace rtrain::pages {

class ProgressBoard {
 public:
  // Creates the pages, for the process that starts the workers. Throws Error(kEnvironment).
  explicit ProgressBoard(int num_ranks);
  // For a worker: maps the board of this descriptor, which the caller still owns. Throws
  // Error(kInternal) when it is not a board of this build.
  struct Inherited {
    int fd;
  };
  explicit ProgressBoard(Inherited inherited);
  ~ProgressBoard();
  ProgressBoard(const ProgressBoard&) = delete;
  ProgressBoard& operator=(const ProgressBoard&) = delete;

  int fd() const { return fd_; }  // -1 in a worker
  int size() const { return num_ranks_; }
  // The number under which the spare has its page.
  int spare() const { return num_ranks_; }
  ProgressPage& page(int rank);
  const ProgressPage& page(int rank) const;
  // Empties the page of a rank for the process that takes its place. REQUIRES: the old process is
  // gone, and its death was noticed.
  void renew(int rank);
  // The spare is the process of this rank from now on. The next spare gets the page that the rank
  // had. REQUIRES: as for renew().
  void take_spare(int rank);
  // A rank enters the collective with this number; `ticks`: of the time stamp counter. Returns when
  // the last rank has entered it, so far. The place is used again for the 64th collective after it.
  const std::atomic<uint64_t>& enter_collective(uint64_t sequence, uint64_t ticks) const;
  // Bytes of checkpoints that all ranks have copied. While it grows, deadlines of checkpoints move.
  uint64_t copied_bytes() const;

 private:
  struct Header {
    uint32_t version;
    uint32_t num_ranks;
    uint64_t page_bytes;
  };
  static constexpr size_t kHeaderBytes = 4096;
  static constexpr size_t kEntriesAt = 64;  // in the header
  static constexpr size_t kEntries = 64;

  void map(int fd, size_t size);
  static size_t size_of(size_t num_ranks);
  std::byte* place(int rank) const;
  // The number of a rank's page among the pages, in the shared memory.
  std::atomic<uint32_t>& number(int rank) const;
  void set_number(int rank, uint32_t number);

  int fd_ = -1;
  int num_ranks_ = 0;
  // The numbers of all pages; empty in a worker. A worker may write over the shared ones.
  std::vector<uint32_t> numbers_;
  std::byte* memory_ = nullptr;
  size_t size_bytes_ = 0;
};

}  // namespace rtrain::pages
