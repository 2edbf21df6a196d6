// tests/sim/worlds/places_world.h: simulated nodes that come and go during a run, around
// host/decide/placement.h, core_request.h, relocation.h and scaling_policy.h.
//
// After each change the run is placed again, according to its strategy and its range of workers.
#pragma once

#include <vector>

#include "host/decide/core_request.h"
#include "host/decide/placement.h"
#include "host/decide/relocation.h"
#include "host/decide/scaling_policy.h"
#include "tests/sim/world.h"

namespace rtrain::sim {

class PlacesWorld : public World {
 public:
  explicit PlacesWorld(Draws& draws);
  void live() override;

 private:
  static decide::ScalingPolicy make_scaling(Draws& draws);
  void change_nodes();
  void place();
  void check_most(int most) const;
  void check_scaling(int capacity);
  void check_counts(int num_workers, const std::vector<int>& counts) const;
  void check_strict(int num_workers, const std::vector<int>& counts) const;
  void check_request(int offered);
  void relocate();
  bool can_relocate(const std::vector<decide::NodeWorkers>& lost,
                    std::vector<decide::NodeRoom> rooms) const;
  bool can_share(const std::vector<decide::NodeWorkers>& lost,
                 const std::vector<decide::NodeRoom>& rooms) const;
  bool are_enough(const std::vector<decide::NodeWorkers>& lost,
                  const std::vector<decide::NodeRoom>& rooms, const std::vector<int>& nodes) const;
  void check_relocated(const std::vector<decide::NodeWorkers>& lost,
                       const std::vector<decide::NodeRoom>& rooms,
                       const std::vector<int>& found) const;
  int room_of_all() const;

  Draws& draws_;
  decide::PlacementStrategy strategy_;
  bool may_share_;
  decide::Placement placement_;
  decide::ScalingPolicy scaling_;
  decide::CoreRequest request_;
  int cores_per_worker_;
  std::vector<decide::NodeCapacity> rooms_;
  int running_ = 0;  // the number of running workers
};

}  // namespace rtrain::sim
