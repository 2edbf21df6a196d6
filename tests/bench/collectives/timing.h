// tests/bench/collectives/timing.h: the measurements of all programs in this folder: sizes, numbers
// of calls, and the median call.
//
// Each rank is a process with one thread. Rank 0 prints "NAME SECONDS" for each size.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace rtrain {

struct CollectiveSize {
  const char* name;
  int64_t bytes;
  int calls;
  bool is_shared;  // lies in memory shared by all ranks, if the library has such memory
};

inline constexpr CollectiveSize kCollectiveSizes[] = {
    {"4K", 4 << 10, 3000, false}, {"1M", 1 << 20, 300, false}, {"26M", 26 << 20, 30, true}};

// Every tenth call starts after a barrier.
template <class Barrier, class Call>
double median_seconds(int calls, const Barrier& barrier, const Call& call) {
  using Clock = std::chrono::steady_clock;
  const int warm = calls / 10 + 1;
  std::vector<double> times;
  for (int i = 0; i < calls + warm; ++i) {
    if (i % 10 == 0) barrier();
    const auto begin = Clock::now();
    call();
    const std::chrono::duration<double> took = Clock::now() - begin;
    if (i >= warm) times.push_back(took.count());
  }
  const auto middle = times.begin() + calls / 2;
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

}  // namespace rtrain
