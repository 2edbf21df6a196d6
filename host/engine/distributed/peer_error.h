// host/engine/distributed/peer_error.h: tells errors that another rank's end or silence caused from
// all others.
#pragma once

#include <optional>
#include <string_view>

#include "host/base/error.h"

namespace rtrain {

// kPeerLost or kTimeout with the cause ("Connection closed by peer") for a text of Gloo or NCCL;
// nothing for any other text.
std::optional<Error> peer_error(std::string_view text);

}  // namespace rtrain
