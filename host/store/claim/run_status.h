// host/store/claim/run_status.h: the statuses with which a run has ended.
#pragma once

#include <string_view>

namespace rtrain::store {

// Any other status means that the run has not ended, or that its controller was lost.
inline bool is_final_status(std::string_view status) {
  return status == "FINISHED" || status == "ERRORED" || status == "ABORTED" ||
         status == "PREEMPTED";
}

}  // namespace rtrain::store
