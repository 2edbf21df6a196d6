// host/train/group/rank_copies.h: the small state of the ranks of other nodes at their last two
// steps of train.elastic. Where such a node is lost another one gets it.
//
// A process is named by its place (NodeGroup). Belongs to the control thread.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

namespace rtrain::train {

class RankCopies {
 public:
  struct Copy {
    uint64_t step = 0;  // 0: none
    std::string bytes = {};
  };

  // A message about an older step may come later, and changes nothing then.
  void put(int place, uint64_t step, std::string bytes) {
    Copy& copy = copies_[place].at(step % 2);
    if (step >= copy.step) copy = {.step = step, .bytes = std::move(bytes)};
  }
  void drop(int place) { copies_.erase(place); }
  bool has(int place) const { return copies_.contains(place); }
  // REQUIRES: has(place).
  const std::array<Copy, 2>& of(int place) const { return copies_.at(place); }

 private:
  std::map<int, std::array<Copy, 2>> copies_;
};

}  // namespace rtrain::train
