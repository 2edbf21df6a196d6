// host/node/health/link_watch.h: a thread that sends a small packet to another host a few times a
// second, waits for the answer, and counts the packets that had to be sent again for it.
//
// One packet at a time: while a host stands still for a moment, one answer is late, and not many.
// A connection that is closed is made again.
//
// Belongs to the loop's thread; the thread ends within a moment of it.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <memory>

#include "host/loop/loop.h"
#include "host/node/health/host_checks.h"

namespace rtrain {

struct LinkState {
  int num_slow = 0;  // of the last answers: those for which a packet was sent again
  int num_answers = 0;
  double silent_s = 0;  // since when the answer that is due has not come
};

class LinkWatch {
 public:
  using OnState = std::function<void(const LinkState& state)>;

  // `on_state`: on the loop's thread, after each answer and twice a second while none comes.
  LinkWatch(Loop& loop, const EchoAddress& peer, OnState on_state);
  ~LinkWatch();
  LinkWatch(const LinkWatch&) = delete;
  LinkWatch& operator=(const LinkWatch&) = delete;

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

}  // namespace rtrain
