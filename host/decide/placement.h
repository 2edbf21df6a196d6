// host/decide/placement.h: how many workers each node of a job gets
// (ScalingConfig.placement_strategy). Pure.
//
// The cores or devices that a job has on a node are for some number of workers. Where the launcher
// did not say how many a worker needs (`may_share`), more workers than that share the cores.
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
  kStrictPack,    // all on one node
  kStrictSpread,  // each on a node of its own
};

}  // namespace rtrain::decide

template <>
inline constexpr std::array<std::string_view, 4>
    rtrain::kNamesOf<rtrain::decide::PlacementStrategy>{"PACK", "SPREAD", "STRICT_PACK",
                                                        "STRICT_SPREAD"};

namespace rtrain::decide {

struct NodeCapacity {
  std::string host;
  int workers = 1;  // that its cores or devices are for
};

class Placement {
 public:
  Placement(PlacementStrategy strategy, bool may_share)
      : strategy_(strategy), may_share_(may_share) {}

  // The most workers that these nodes can have, up to `limit`.
  int most(const std::vector<NodeCapacity>& rooms, int limit) const;
  // Of each node. REQUIRES: num_workers <= most(rooms, num_workers).
  std::vector<int> counts(int num_workers, const std::vector<NodeCapacity>& rooms) const;
  // The error of workers that these nodes cannot have, with the numbers.
  std::optional<Error> impossible(int num_workers, const std::vector<NodeCapacity>& rooms) const;

 private:
  PlacementStrategy strategy_;
  bool may_share_;
};

}  // namespace rtrain::decide
