// host/engine/distributed/gloo/peer_error.h: recognizes errors that another rank's end or silence
// has caused.
#pragma once

#include <exception>
#include <optional>
#include <string_view>

#include "host/base/error.h"

namespace rtrain::engine {

// kPeerLost or kTimeout with the cause ("Connection closed by peer") for a text of Gloo or NCCL;
// nullopt for any other text.
std::optional<Error> peer_error(std::string_view text);

// The kPeerLost error of a group that was cut.
Error lost_peer();

// Translates errors of a collective inside LibTorch (backward with DistributedDataParallel): a lost
// rank, and other errors of the group. An ErrorTranslator (runtime/guard.h).
std::optional<Error> translate_peer_error(const std::exception& e);

}  // namespace rtrain::engine
