// host/base/runtime_folder.h: the user's folder for what belongs to running processes of this host:
// sockets of controllers, leases of cores.
#pragma once

#include <string>

namespace rtrain {

// $RTRAIN_RUNTIME_DIR, else $XDG_RUNTIME_DIR/rtrain, else /tmp/rtrain-<uid>; made with mode 0700
// where missing. Throws kEnvironment when it cannot be made, is a symbolic link, belongs to another
// user or is open to others.
std::string runtime_folder();

}  // namespace rtrain
