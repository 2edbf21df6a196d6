#include "host/machine/node_facts.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>
#include <utility>
#include <vector>

#include "host/base/text/text.h"

namespace rtrain::machine {
namespace {

// The kernel's unit in /proc/diskstats, whatever sector size the disk has.
constexpr int64_t kSectorBytes = 512;
constexpr int64_t kKibibyte = 1024;

void add(std::optional<int64_t>& sum, int64_t count) { sum = sum.value_or(0) + count; }

// The first line: cpu user nice system idle iowait irq softirq steal …
void read_cpu(const std::string& root, NodeFacts& out) {
  std::ifstream file(cat(root, "/proc/stat"));
  std::string name;
  double user = 0;
  double nice = 0;
  double system = 0;
  double idle = 0;
  double waiting = 0;
  double irq = 0;
  double softirq = 0;
  double stolen = 0;
  const auto ticks_a_second = static_cast<double>(sysconf(_SC_CLK_TCK));
  if (!(file >> name >> user >> nice >> system >> idle >> waiting >> irq >> softirq)) return;
  out.cpu_s = (user + nice + system + irq + softirq) / ticks_a_second;
  if (file >> stolen) out.stolen_s = stolen / ticks_a_second;
}

void read_memory(const std::string& root, NodeFacts& out) {
  std::ifstream file(cat(root, "/proc/meminfo"));
  std::optional<int64_t> total;
  std::optional<int64_t> available;
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream fields(line);
    std::string name;
    int64_t kibibytes = 0;
    if (!(fields >> name >> kibibytes)) continue;
    if (name == "MemTotal:") total = kibibytes * kKibibyte;
    if (name == "MemAvailable:") available = kibibytes * kKibibyte;
  }
  if (total && available) out.memory_used_bytes = *total - *available;
}

// Counts only entries with a device: partitions, and devices stacked on a disk, repeat its bytes.
void read_disks(const std::string& root, NodeFacts& out) {
  std::ifstream file(cat(root, "/proc/diskstats"));
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream fields(line);
    int64_t skipped = 0;
    std::string name;
    int64_t read = 0;
    int64_t written = 0;
    fields >> skipped >> skipped >> name >> skipped >> skipped >> read;
    if (!(fields >> skipped >> skipped >> skipped >> written)) continue;
    std::error_code failed;
    if (!std::filesystem::exists(cat(root, "/sys/block/", name, "/device"), failed)) continue;
    add(out.disk_read_bytes, read * kSectorBytes);
    add(out.disk_written_bytes, written * kSectorBytes);
  }
}

// NAME: received bytes and seven other numbers, sent bytes and seven others
void read_network(const std::string& root, NodeFacts& out) {
  std::ifstream file(cat(root, "/proc/net/dev"));
  std::string line;
  while (std::getline(file, line)) {
    const size_t colon = line.find(':');
    if (colon == std::string::npos || trim(line.substr(0, colon)) == "lo") continue;
    std::istringstream fields(line.substr(colon + 1));
    int64_t received = 0;
    int64_t skipped = 0;
    int64_t sent = 0;
    fields >> received;
    for (int i = 0; i < 7; ++i) fields >> skipped;
    if (!(fields >> sent)) continue;
    add(out.network_received_bytes, received);
    add(out.network_sent_bytes, sent);
  }
}

}  // namespace

NodeFacts cpu_facts(const std::string& root) {
  NodeFacts out;
  read_cpu(root, out);
  return out;
}

NodeFacts node_facts(const std::string& root) {
  NodeFacts out = cpu_facts(root);
  read_memory(root, out);
  read_disks(root, out);
  read_network(root, out);
  return out;
}

}  // namespace rtrain::machine
