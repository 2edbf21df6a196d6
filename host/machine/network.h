// host/machine/network.h: the addresses of this host.
#pragma once

#include <string>
#include <vector>

namespace rtrain {

// Numeric addresses of the interfaces that are up, IPv4 before IPv6, without loopback and
// link-local ones.
std::vector<std::string> own_addresses();

// The interface that has the numeric address: "eth0"; empty where none has it.
std::string interface_of(const std::string& address);

}  // namespace rtrain
