// host/node/health/link_watch.h: a thread that sends a small packet to another node several times a
// second, waits for the answer, and counts answers that needed retransmissions.
//
// It sends one packet at a time: if a node pauses for a moment, one answer is late instead of many.
// A closed connection is made again.
//
// Belongs to the loop's thread; the watching thread ends shortly after this object.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <memory>

#include "host/loop/loop.h"
#include "host/node/health/node_checks.h"

namespace rtrain::node {

struct LinkState {
  int num_slow = 0;  // of the last answers: how many needed a retransmission
  int num_answers = 0;
  double silent_s = 0;  // how long the expected answer is overdue
};

class LinkWatch {
 public:
  using OnState = std::function<void(const LinkState& state)>;

  // `on_state`: called on the loop's thread, after each answer and twice a second while none
  // arrives.
  LinkWatch(loop::Loop& loop, const EchoAddress& peer, OnState on_state);
  ~LinkWatch();
  LinkWatch(const LinkWatch&) = delete;
  LinkWatch& operator=(const LinkWatch&) = delete;

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

}  // namespace rtrain::node
