// tests/sim/worlds/stop_world.h: simulated ranks that are asked to stop at the same call, around
// host/decide/stop_agreement.h.
//
// Each rank calls train.stop_requested() in a loop and enters a collective with the others between
// two calls. Orders and answers take their time, but stay in order for each rank; ranks leave, and
// processes stand still for a while.
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
    int64_t calls = 0;     // calls that have returned
    int64_t meetings = 0;  // collectives that the rank has entered
    bool is_held = false;
    bool has_left = false;
    bool is_frozen = false;
    std::optional<int64_t> at;
    std::deque<decide::StopOrder> orders;  // in flight to the rank
    std::deque<Answer> answers;            // in flight to the controller
    bool is_leaving = false;               // the controller has not heard of it yet
  };

  void step_on();
  void act(size_t rank);
  void take_order(Rank& rank);
  void hear(int rank);
  void call(Rank& rank);
  void send(const std::optional<decide::StopOrder>& order);

  Draws& draws_;
  std::vector<Rank> ranks_;
  decide::StopAgreement agreement_;
  bool is_calm_ = false;  // all ranks take turns, and no new fault happens
  int turn_ = 0;
  bool is_asked_ = false;
};

}  // namespace rtrain::sim
