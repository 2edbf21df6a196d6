// tests/sim/worlds/nodes_world.h: simulated nodes with links between them, around
// host/decide/link_verdict.h and evidence.h.
//
// Twice a second nodes report the state of their links. One node's network or one link drops
// packets or lets nothing through; a dead node reports nothing. Only the faulty node or link may be
// named, and it must be.
#pragma once

#include <set>
#include <utility>
#include <vector>

#include "host/decide/link_verdict.h"
#include "tests/sim/world.h"

namespace rtrain::sim {

class NodesWorld : public World {
 public:
  explicit NodesWorld(Draws& draws);
  void live() override;

 private:
  enum class Trouble { kNone, kDrops, kSilent };
  using Ends = std::pair<int, int>;

  void begin_trouble();
  void say();
  void say(int node, int peer);
  void look();
  void judge(const decide::LinkFinding& finding);
  void check_at_fault();
  void check_evidence();
  bool is_bad(int a, int b) const;
  bool is_alive(int node) const { return !dead_.contains(node); }
  int num_bad(int node) const;

  Draws& draws_;
  int num_nodes_;
  bool is_exact_;       // good links lose no packet, and all bad links lose the same number
  bool is_stuttering_;  // on good links some answer is always late
  decide::LinkVerdict verdict_;
  Trouble trouble_ = Trouble::kNone;
  std::set<Ends> bad_;     // each link in both directions
  std::set<int> dead_;     // nodes that report nothing
  std::set<int> evicted_;  // nodes that the run has given up
  double now_s_ = 0;
  double bad_since_s_ = 0;
};

}  // namespace rtrain::sim
