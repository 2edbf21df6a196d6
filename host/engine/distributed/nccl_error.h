// host/engine/distributed/nccl_error.h: the error of a group over NCCL whose devices make no
// progress. Pure.
#pragma once

#include <optional>
#include <string>

#include "host/base/error.h"
#include "host/engine/distributed/given_collectives.h"

namespace rtrain {

struct NcclFailure {
  enum class Kind {
    kStart,    // the devices did not connect in time
    kTimeout,  // a collective did not end in time
    kError,    // NCCL has failed
    kAbort,    // LibTorch wants to abort the process
  };
  Kind kind = Kind::kTimeout;
  int rank = 0;
  int world_size = 1;
  double waited_s = 0;
  std::optional<GivenCollective> collective;  // the oldest that has not ended
  std::optional<std::string> absent;          // who has not called it; nothing: not known
  std::string detail;                         // NCCL's or LibTorch's own words
};

// kTimeout; kPeerLost where another rank's end is NCCL's reason; else kUser.
Error nccl_error(const NcclFailure& failure);

}  // namespace rtrain
