// host/store/files/network_path.h: whether a file is on another machine's disk.
#pragma once

#include <string>

namespace rtrain::store {

// Whether the path, or its nearest existing parent, is on a network or user-space file
// system.
bool is_network_path(const std::string& path);

}  // namespace rtrain::store
