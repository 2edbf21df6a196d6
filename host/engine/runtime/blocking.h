// host/engine/runtime/blocking.h: reports to the host in which wait this rank is, if the host has
// functions for it.
#pragma once

#include "host/api/host_api.h"

namespace rtrain::engine {

class BlockingRegion {
 public:
  BlockingRegion(const api::HostApi& host, WaitKind kind, const char* operation) : host_(host) {
    if (host_.enter_blocking != nullptr) host_.enter_blocking(kind, operation);
  }
  ~BlockingRegion() {
    if (host_.leave_blocking != nullptr) host_.leave_blocking();
  }
  BlockingRegion(const BlockingRegion&) = delete;
  BlockingRegion& operator=(const BlockingRegion&) = delete;

 private:
  const api::HostApi& host_;
};

}  // namespace rtrain::engine
