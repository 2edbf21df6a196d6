// host/base/wait_kind.h: what a rank waits for while it is blocked. Whoever blocks says it; the
// watchdog decides by it which waits can end, whatever the text says that people see.
#pragma once

#include <cstdint>

namespace rtrain {

enum class WaitKind : uint8_t {
  kCollective,  // a collective of torch.distributed, which the rank has counted
  kAgreement,   // other ranks: a message of one, train.collective, the attempt's store
  kReport,      // the other ranks' report of the same number, or the controller's answer to it
  kBounded,     // an upload, a validation, the agreement on a stop: has a deadline of its own
  kData,        // threads that load
  kOwn,         // its own device or files, or an answer of the controller that no rank holds up
};

// Whether only other ranks can end the wait.
constexpr bool needs_peers(WaitKind kind) {
  switch (kind) {
    case WaitKind::kCollective:
    case WaitKind::kAgreement:
      return true;
    case WaitKind::kReport:
    case WaitKind::kBounded:
    case WaitKind::kData:
    case WaitKind::kOwn:
      return false;
  }
  return false;
}

// Whether nothing outside of this process can end the wait, so that its silence is its own.
constexpr bool is_own(WaitKind kind) { return kind == WaitKind::kData || kind == WaitKind::kOwn; }

}  // namespace rtrain
