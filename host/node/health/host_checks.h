// host/node/health/host_checks.h: the checks of a host before it is used, and while it is: that
// its storage writes, that its devices answer, that another host is reached. Each call may take
// long, or never return: see host/node/health/timed_check.h.
//
// Each gives the problem, or "".
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace rtrain {

// Writes a file there, has it on the disk, reads and removes it.
std::string storage_problem(const std::string& folder);
// Whether what the file system has said speaks against the host, where other hosts write: a full
// disk does not, nor a quota, nor what is_lack() is.
bool is_disk_fault(const std::string& problem);
// Whether the process that checked had no descriptor, memory or port left: nothing is known then of
// what was checked. By the problem's text, or by errno.
bool is_lack(const std::string& problem);
bool is_lack_of(int reason);

// Asks NVIDIA's management library of each device. Nothing where there is no library.
std::string device_problem(const std::vector<std::string>& uuids);

// An EchoServer of another host.
struct EchoAddress {
  std::string address;
  int port = 0;
  std::string key;
};

// Sends that many bytes there, and receives as many.
std::string exchange_problem(const EchoAddress& peer, size_t bytes,
                             std::chrono::milliseconds timeout);

}  // namespace rtrain
