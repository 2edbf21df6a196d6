// host/machine/node_facts.h: the figures of /proc about this node: processors, memory, disks,
// network.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace rtrain::machine {

// All but the memory are counted since the node's start. Figures that /proc lacks are nullopt.
struct NodeFacts {
  std::optional<double> cpu_s;     // busy time of all cores together
  std::optional<double> stolen_s;  // in which a virtual machine's host used the cores for others
  std::optional<int64_t> memory_used_bytes;
  std::optional<int64_t> disk_read_bytes;  // of whole disks
  std::optional<int64_t> disk_written_bytes;
  std::optional<int64_t> network_received_bytes;  // of all interfaces but the loopback
  std::optional<int64_t> network_sent_bytes;
};

// Only what /proc/stat says of the processors. `root`: as below.
NodeFacts cpu_facts(const std::string& root = "");
// `root` is the folder that holds proc/ and sys/.
NodeFacts node_facts(const std::string& root = "");

}  // namespace rtrain::machine
