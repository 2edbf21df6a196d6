// tests/soak/scale/sim_board.h: shared memory that tells the simulated workers of all processes
// what to do, and counts what they have done.
#pragma once

#include <atomic>
#include <cstdint>

namespace rtrain {

struct SimBoard {
  // Instructions.
  std::atomic<bool> reports = false;      // report ten times a second
  std::atomic<int64_t> barrier = 0;       // the number of barriers that all ranks shall enter
  std::atomic<bool> kill = false;         // the ranks of the killed nodes shall die
  std::atomic<bool> leave = false;        // train functions shall return
  std::atomic<int64_t> killed_at_ns = 0;  // monotonic time at which the first rank died
  // Results, summed over all workers.
  std::atomic<int64_t> num_reports = 0;   // in the first attempt
  std::atomic<int64_t> num_released = 0;  // ranks that have left a barrier
  std::atomic<int64_t> last_arrival_ns = 0;
  std::atomic<int64_t> last_release_ns = 0;

  // The board of $SIM_BOARD, which make() sets for this process and its children.
  static SimBoard& of_this_process();
  static SimBoard& make();
};

// Returns the time of the monotonic clock.
int64_t now_ns();

}  // namespace rtrain
