// host/engine/runtime/blocking.h: tells the controller where this rank waits, as far as the host
// wants to know.
#pragma once

#include "host/api/host_api.h"

namespace rtrain {

class BlockingRegion {
 public:
  BlockingRegion(const HostApi& host, WaitKind kind, const char* operation) : host_(host) {
    if (host_.enter_blocking != nullptr) host_.enter_blocking(kind, operation);
  }
  ~BlockingRegion() {
    if (host_.leave_blocking != nullptr) host_.leave_blocking();
  }
  BlockingRegion(const BlockingRegion&) = delete;
  BlockingRegion& operator=(const BlockingRegion&) = delete;

 private:
  const HostApi& host_;
};

}  // namespace rtrain
