// host/worker/report/controller_lost.h: the errors of a worker whose controller has ended or does
// not answer.
#pragma once

#include <string_view>

#include "host/base/error.h"
#include "host/base/text/text.h"

namespace rtrain::worker {

inline Error controller_lost() {
  return Error(Code::kPeerLost, "the connection to the controller is closed");
}

// The worker has waited for this time in `what` ("report() number 3").
inline Error controller_silent(std::string_view what, double seconds) {
  return Error(Code::kTimeout,
               cat(what, ": the run's controller has neither read nor answered for ", seconds,
                   " s (timeout_s): its process is stopped (SIGSTOP, "
                   "Ctrl-Z) or hangs"));
}

}  // namespace rtrain::worker
