// host/node/health/node_checks.h: checks of a node before and while it is used: its storage can be
// written, its devices answer, and another node can be reached. A call may block for long or
// forever: see host/node/health/timed_check.h.
//
// Each returns the problem, or "".
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace rtrain::node {

// Writes a file in the folder, syncs it, reads it and removes it.
std::string storage_problem(const std::string& folder);
// Whether such a problem of the file system means that this node is at fault, if other nodes can
// write there. A full disk, a quota and is_lack() do not mean that.
bool is_disk_fault(const std::string& problem);
// Whether the checking process had no descriptor, memory or port left, so that its check proves
// nothing. Decides by the problem's text, or by errno.
bool is_lack(const std::string& problem);
bool is_lack_of(int reason);
// Whether the node at the other end has refused or closed the connection: its process has ended, or
// a firewall keeps others out.
bool is_refusal(const std::string& problem);

// Asks NVIDIA's management library about each device. Returns "" without the library.
std::string device_problem(const std::vector<std::string>& uuids);

// The address of another node's EchoServer.
struct EchoAddress {
  std::string address;
  int port = 0;
  std::string key;
};

// Sends that many bytes to the node and receives them back.
std::string exchange_problem(const EchoAddress& peer, size_t bytes,
                             std::chrono::milliseconds timeout);

}  // namespace rtrain::node
