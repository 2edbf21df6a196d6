// host/engine/distributed/nccl_error.h: the error of an NCCL group whose devices make no progress.
// Pure.
#pragma once

#include <optional>
#include <string>

#include "host/base/error.h"
#include "host/engine/distributed/given_collectives.h"

namespace rtrain::engine {

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
  std::optional<GivenCollective> collective;  // the oldest that has not completed
  std::optional<std::string> absent;          // ranks that have not called it; nullopt: unknown
  std::string detail;                         // text of NCCL or LibTorch
};

// kTimeout; kPeerLost if NCCL reports another rank's end; else kUser.
Error nccl_error(const NcclFailure& failure);

}  // namespace rtrain::engine
