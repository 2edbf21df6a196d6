// tests/sim/stop_world.h: ranks that are asked to stop at the same call, simulated, around
// host/decide/stop_agreement.h.
//
// Each rank calls train.stop_requested() in a loop and calls a collective with the others between
// two calls. Orders and answers take their time, each rank's in order; ranks leave, and processes
// stand still for a while.
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "host/decide/stop_agreement.h"
#include "tests/sim/world.h"

namespace rtrain::sim {

class StopWorld : public World {
 public:
  explicit StopWorld(Draws& draws);
  void live() override;

 private:
  struct Answer {
    int round;
    int64_t calls;
  };
  // A rank with its side of the agreement (host/worker/stop_gate.h).
  struct Rank {
    int64_t calls = 0;     // that have returned
    int64_t meetings = 0;  // collectives that it has come to
    bool is_held = false;
    bool has_left = false;
    bool is_frozen = false;
    std::optional<int64_t> at;
    std::deque<StopOrder> orders;  // on their way to it
    std::deque<Answer> answers;    // on their way back
    bool is_leaving = false;       // the controller has not heard of it
  };

  void step_on();
  void act(size_t rank);
  void take_order(Rank& rank);
  void hear(int rank);
  void call(Rank& rank);
  void send(const std::optional<StopOrder>& order);

  Draws& draws_;
  std::vector<Rank> ranks_;
  StopAgreement agreement_;
  bool is_calm_ = false;  // everybody has a turn, nothing new goes wrong
  int turn_ = 0;
  bool is_asked_ = false;
};

}  // namespace rtrain::sim
