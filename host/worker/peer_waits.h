// host/worker/peer_waits.h: how long the main thread waits in collectives for other ranks of its
// node: until the last one of them has entered the collective. What follows is the exchange, and
// waits for other nodes.
//
// Belongs to the main thread. Times are of the time stamp counter, which all processors of a
// machine share.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace rtrain::worker {

class PeerWaits {
 public:
  // The rank enters a collective of all ranks. `last`: when the last rank of the node has entered
  // it, so far; it must outlive the object.
  void enter(uint64_t ticks, const std::atomic<uint64_t>& last) {
    entered_ = ticks;
    last_ = &last;
  }
  // The thread has been in communication between these times.
  void add(uint64_t begun, uint64_t ended) {
    if (last_ == nullptr) return;
    const uint64_t last = std::min(last_->load(std::memory_order_relaxed), ended);
    if (last > entered_ && last > begun) ticks_ += last - begun;
  }
  void clear() { ticks_ = 0; }
  uint64_t ticks() const { return ticks_; }

 private:
  uint64_t entered_ = 0;
  const std::atomic<uint64_t>* last_ = nullptr;
  uint64_t ticks_ = 0;
};

}  // namespace rtrain::worker
