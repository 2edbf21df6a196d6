// host/base/wait_kind.h: the reasons why a rank is blocked. The code that blocks sets it; the
// watchdog uses it, and not the text for users, to decide which waits can end.
#pragma once

#include <cstdint>

namespace rtrain {

enum class WaitKind : uint8_t {
  kCollective,  // a collective of torch.distributed, counted by the rank
  kAgreement,   // waits for other ranks: a message, train.collective, the attempt's store
  kReport,      // the other ranks' report of the same number, or the controller's answer to it
  kBounded,     // has its own deadline: an upload, a validation, the agreement on a stop
  kData,        // threads of data loaders
  kOwn,         // its own device or files, or the controller's answer that needs no other rank
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

// Whether only this process can end the wait, so that the rank itself is to blame if it does not
// end.
constexpr bool is_own(WaitKind kind) { return kind == WaitKind::kData || kind == WaitKind::kOwn; }

}  // namespace rtrain
