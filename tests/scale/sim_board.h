// tests/scale/sim_board.h: what the simulated workers of all processes are to do, and what they
// have done: memory that these processes share.
#pragma once

#include <atomic>
#include <cstdint>

namespace rtrain {

struct SimBoard {
  // What they are to do.
  std::atomic<bool> reports = false;      // ten times a second
  std::atomic<int64_t> barrier = 0;       // all ranks are to have been in that many
  std::atomic<bool> kill = false;         // those that are to die do
  std::atomic<bool> leave = false;        // their train functions return
  std::atomic<int64_t> killed_at_ns = 0;  // by the monotonic clock: when the first died
  // What they have done, all together.
  std::atomic<int64_t> num_reports = 0;   // in the first attempt
  std::atomic<int64_t> num_released = 0;  // ranks that have left a barrier
  std::atomic<int64_t> last_arrival_ns = 0;
  std::atomic<int64_t> last_release_ns = 0;

  // The board of $SIM_BOARD, which make() has set for this process and what it starts.
  static SimBoard& of_this_process();
  static SimBoard& make();
};

// Of the monotonic clock.
int64_t now_ns();

}  // namespace rtrain
