// host/api/link_reading.h: what the kernel says of a connection to a rank of another node.
#pragma once

#include <cstdint>
#include <string>

namespace rtrain::api {

struct LinkReading {
  std::string own;  // the numeric addresses of its ends
  std::string peer;
  uint64_t bytes = 0;    // that have arrived at the other end
  uint64_t waiting = 0;  // bytes that were sent, and have not arrived
};

}  // namespace rtrain::api
