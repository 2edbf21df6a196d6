// tests/sim/worlds/rows_world.h: a simulated group with a sharded model, around
// host/decide/row_keepers.h.
//
// Each rank keeps a copy of another rank's rows. Nodes are lost, several at once too, and their
// ranks come to other nodes, or the group goes on without them; more are lost while rows are passed
// on and copied. Rows are simulated as the rank that they belong to and the step that they are of.
#pragma once

#include <set>
#include <vector>

#include "host/decide/row_keepers.h"
#include "tests/sim/world.h"

namespace rtrain::sim {

class RowsWorld : public World {
 public:
  explicit RowsWorld(Draws& draws) : draws_(draws) {}
  void live() override;

 private:
  struct Rows {
    int rank = -1;  // -1: none
    int step = 0;
    bool operator==(const Rows&) const = default;
  };
  struct Rank {
    int node = 0;
    decide::RowPlace place = {};
    Rows own = {};
    Rows kept = {};
  };

  void begin(int num_ranks);
  void step();
  std::set<int> draw_lost();
  void lose(const std::set<int>& nodes);
  void leave_out(const std::set<int>& nodes);
  void replace(const std::set<int>& nodes);
  void heal();
  bool pass_on(const std::vector<decide::RowHolder>& holders);
  void keep_again(bool is_resized, bool is_cut);
  Rows rows_of(int rank) const;
  std::vector<decide::RowPlace> places() const;
  std::vector<int> nodes() const;
  void demand_apart(const std::vector<int>& keepers) const;
  void demand_needed(const std::vector<int>& keepers, bool is_resized, bool sends_all);
  void demand_lost() const;

  Draws& draws_;
  std::vector<Rank> ranks_;
  int size_ = 0;  // of the group before the loss
  int step_ = 0;
};

}  // namespace rtrain::sim
