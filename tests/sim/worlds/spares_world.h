// tests/sim/worlds/spares_world.h: a simulated node with ranks of train.elastic and its spare,
// around host/decide/spare.h.
//
// Ranks are lost and replaced, by the spare where it is there; spares end by themselves, or the
// node has no memory for them; the group gets another size, is stopped, or returns.
#pragma once

#include "host/decide/spare.h"
#include "tests/sim/world.h"

namespace rtrain::sim {

class SparesWorld : public World {
 public:
  explicit SparesWorld(Draws& draws) : draws_(draws) {}
  void live() override;

 private:
  void look();
  void lose();
  void settle();
  void end_spare();
  void demand_right(decide::Spare::Order order);

  Draws& draws_;
  decide::Spare spare_;
  double now_s_ = 0;
  bool exists_ = false;
  bool is_settled_ = false;
  bool is_over_ = false;
  double settled_s_ = 0;
  double last_made_s_ = -1;  // since the last loss; -1: none was
  double without_since_s_ = 0;
};

}  // namespace rtrain::sim
