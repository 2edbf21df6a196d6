// host/machine/network.h: the addresses of this node.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace rtrain::machine {

// Returns the numeric addresses of the interfaces that are up, IPv4 before IPv6, without loopback
// and link-local addresses.
std::vector<std::string> own_addresses();

// Returns environment variables, name and value, that bind Gloo and NCCL to the interface with that
// address; none if no interface has it.
std::vector<std::pair<std::string, std::string>> interface_settings(const std::string& address);

}  // namespace rtrain::machine
