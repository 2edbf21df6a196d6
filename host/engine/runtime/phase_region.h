// host/engine/runtime/phase_region.h: reports to the host in which phase this thread spends its
// time (host/base/phase_clock.h).
#pragma once

#include "host/api/host_api.h"

namespace rtrain::engine {

class PhaseRegion {
 public:
  PhaseRegion(const api::HostApi& host, TrainPhase phase) : host_(host) {
    if (host_.enter_phase != nullptr) depth_ = host_.enter_phase(phase);
  }
  ~PhaseRegion() {
    if (host_.leave_phase != nullptr) host_.leave_phase(depth_);
  }
  PhaseRegion(const PhaseRegion&) = delete;
  PhaseRegion& operator=(const PhaseRegion&) = delete;

 private:
  const api::HostApi& host_;
  int depth_ = -1;
};

}  // namespace rtrain::engine
