// tests/sim/worlds/sums_world.h: simulated processes that add up the gradients of virtual ranks,
// around host/decide/slow/shares.h and host/base/sum_tree.h.
//
// Processes compute the virtual ranks of a step in any interleaving, are lost before or after all
// have added up, and others take their places, or the group becomes smaller, larger, or gets other
// shares. Every process that has made a step has the bits of one that computes alone.
#pragma once

#include <vector>

#include "host/base/sum_tree.h"
#include "host/decide/slow/shares.h"
#include "tests/sim/world.h"

namespace rtrain::sim {

class SumsWorld : public World {
 public:
  explicit SumsWorld(Draws& draws);
  void live() override;

 private:
  // What a process has: its state, and what it has added in this step.
  struct Process {
    float state = 0;
    SumTree tree;
    std::vector<float> values;
    int num_done = 0;
  };

  int size() const { return static_cast<int>(processes_.size()); }
  LeafRange range(int rank) const;
  float gradient(float state, int leaf) const;
  float sum_alone(float state, int level, int number) const;
  void become(int size);
  void balance();
  void step();
  // Every process computes its virtual ranks. Returns false where one was lost before the end.
  bool compute();
  void compute_one(int rank);
  void lose(int rank);
  float sum_of_all();
  float sum_of_parts();
  void move(float sum);

  Draws& draws_;
  int num_virtual_;
  int step_ = 0;
  float calm_ = 1;  // the state of a process that computes alone
  decide::Shares shares_;
  std::vector<Process> processes_;
};

}  // namespace rtrain::sim
