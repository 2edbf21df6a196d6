// host/engine/distributed/gloo/peer_error.h: tells errors that another rank's end or silence caused
// from all others.
#pragma once

#include <exception>
#include <optional>
#include <string_view>

#include "host/base/error.h"

namespace rtrain {

// kPeerLost or kTimeout with the cause ("Connection closed by peer") for a text of Gloo or NCCL;
// nothing for any other text.
std::optional<Error> peer_error(std::string_view text);

// kPeerLost of a group that was cut.
Error lost_peer();

// What a collective inside LibTorch (backward under DistributedDataParallel) throws when a rank is
// lost, and other errors of the group; an ErrorTranslator (runtime/guard.h).
std::optional<Error> translate_peer_error(const std::exception& e);

}  // namespace rtrain
