// host/store/files/network_path.h: whether a file lies on another machine's disk.
#pragma once

#include <string>

namespace rtrain {

// True when the path, or the nearest parent that exists, lies on a network or user-space file
// system.
bool is_network_path(const std::string& path);

}  // namespace rtrain
