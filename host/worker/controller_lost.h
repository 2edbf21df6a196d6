// host/worker/controller_lost.h: the error of a worker that needs its controller, and has lost it.
#pragma once

#include "host/base/error.h"

namespace rtrain {

inline Error controller_lost() {
  return Error(Code::kPeerLost, "the connection to the controller is closed");
}

}  // namespace rtrain
