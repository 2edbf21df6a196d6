// tests/sim/hosts_world.h: hosts with links between them, simulated, around
// host/decide/link_verdict.h and evidence.h.
//
// Hosts say twice a second what they see of their links. A host's network drops packets, or lets
// nothing through, or one link does; a host dies and says nothing. Only what the world made bad may
// be named, and it must be.
#pragma once

#include <set>
#include <utility>
#include <vector>

#include "host/decide/link_verdict.h"
#include "tests/sim/world.h"

namespace rtrain::sim {

class HostsWorld : public World {
 public:
  explicit HostsWorld(Draws& draws);
  void live() override;

 private:
  enum class Trouble { kNone, kDrops, kSilent };
  using Ends = std::pair<int, int>;

  void begin_trouble();
  void say();
  void say(int node, int peer);
  void look();
  void judge(const LinkFinding& finding);
  void check_at_fault();
  void check_evidence();
  bool is_bad(int a, int b) const;
  bool is_alive(int node) const { return !dead_.contains(node); }
  int num_bad(int node) const;

  Draws& draws_;
  int num_nodes_;
  bool is_exact_;  // good links lose no packet, and the bad ones as many
  LinkVerdict verdict_;
  Trouble trouble_ = Trouble::kNone;
  std::set<Ends> bad_;     // in both directions
  std::set<int> dead_;     // say nothing
  std::set<int> evicted_;  // the run does without them
  double now_s_ = 0;
  double bad_since_s_ = 0;
};

}  // namespace rtrain::sim
