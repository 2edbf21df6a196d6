// host/decide/placement.h: how many workers each node of a job gets
// (ScalingConfig.placement_strategy). Pure.
//
// The cores or devices of a job on a node are enough for some number of workers. Where the launcher
// did not say how many cores a worker needs (`may_share`), more workers may share them.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/base/codec/record.h"
#include "host/base/error.h"

namespace rtrain::decide {

enum class PlacementStrategy {
  kPack,          // fills one node after the other, in the launcher's order
  kSpread,        // gives one worker to each node in turn
  kStrictPack,    // puts all on one node
  kStrictSpread,  // puts each on a node of its own
};

}  // namespace rtrain::decide

template <>
inline constexpr std::array<std::string_view, 4>
    rtrain::kNamesOf<rtrain::decide::PlacementStrategy>{"PACK", "SPREAD", "STRICT_PACK",
                                                        "STRICT_SPREAD"};

namespace rtrain::decide {

struct NodeCapacity {
  std::string host;
  int workers = 1;  // that its cores or devices are enough for
};

class Placement {
 public:
  Placement(PlacementStrategy strategy, bool may_share)
      : strategy_(strategy), may_share_(may_share) {}

  bool may_share() const { return may_share_; }
  // Whether a node that has workers may get more of them.
  bool may_add() const { return strategy_ != PlacementStrategy::kStrictSpread; }
  // The largest number of workers that these nodes can have, at most `limit`.
  int most(const std::vector<NodeCapacity>& rooms, int limit) const;
  // The number of workers of each node. REQUIRES: num_workers <= most(rooms, num_workers).
  std::vector<int> counts(int num_workers, const std::vector<NodeCapacity>& rooms) const;
  // The error where these nodes cannot have that many workers; else nullopt.
  std::optional<Error> impossible(int num_workers, const std::vector<NodeCapacity>& rooms) const;

 private:
  PlacementStrategy strategy_;
  bool may_share_;
};

}  // namespace rtrain::decide
