#include "host/train/resources/node_roster.h"

#include <algorithm>
#include <set>
#include <utility>

#include "host/base/text/text.h"
#include "host/machine/leases/gpu_request.h"
#include "host/machine/libraries/libtorch.h"
#include "host/machine/machine.h"

namespace rtrain::train {
namespace {

// Limit for one node, whatever its agent sends.
constexpr int kMostWorkers = 100'000;

}  // namespace

NodeRoster::NodeRoster(const node::NodeServer& nodes, const RunSpec& spec,
                       std::vector<std::string> gpus)
    : nodes_(nodes), spec_(spec), gpus_(std::move(gpus)), libtorch_(machine::libtorch_build()) {}

void NodeRoster::evict(int node, const std::string& reason) {
  evicted_[node] = cat("node ", name(node), " (", reason, ")");
}

RosterNode* NodeRoster::find(int node) {
  const auto found = others_.find(node);
  return found == others_.end() ? nullptr : &found->second;
}

std::string NodeRoster::name(int node) const {
  const auto found = others_.find(node);
  return found == others_.end() ? machine::hostname() : found->second.info.host;
}

std::string NodeRoster::address(int node) const {
  return node == 0 ? nodes_.address() : others_.at(node).info.address;
}

decide::NodeCapacity NodeRoster::room(int node) const {
  if (node == 0) {
    const node::JobSpec& spec = nodes_.spec();
    return {machine::hostname(), std::min(workers_for(spec.tasks_on_node(), nodes_.cores(), gpus_),
                                          spec.most_workers.value_or(kMostWorkers))};
  }
  const message::AgentInfo& info = others_.at(node).info;
  const int most = std::min(info.most_workers.value_or(kMostWorkers), kMostWorkers);
  return {info.host, std::clamp(workers_for(info.tasks, info.cores, info.gpus), 0, most)};
}

// If the launcher has started each rank, it has chosen the number.
int NodeRoster::workers_for(int tasks, int cores, const std::vector<std::string>& gpus) const {
  if (spec_.join) return tasks;
  const int each = has_ingest_node() ? spec_.cpus_per_worker : spec_.total_cpus_per_worker();
  const int of_cores = cores / std::max(1, each);
  if (spec_.gpus_per_worker == 0) return of_cores;
  const int of_gpus = workers_for(gpus);
  return spec_.cpus_per_worker == 0 ? of_gpus : std::min(of_cores, of_gpus);
}

int NodeRoster::workers_for(const std::vector<std::string>& gpus) const {
  const std::string& type = spec_.accelerator_type;
  const auto fitting = std::count_if(gpus.begin(), gpus.end(), [&type](const std::string& name) {
    return type.empty() || machine::is_accelerator(name, type);
  });
  return static_cast<int>(static_cast<double>(fitting) / spec_.gpus_per_worker);
}

// Whether a node has no device for a rank: ingest workers run there, not next to the ranks.
bool NodeRoster::has_ingest_node() const {
  if (spec_.gpus_per_worker == 0) return false;
  return std::any_of(others_.begin(), others_.end(), [this](const auto& other) {
    return workers_for(other.second.info.gpus) == 0;
  });
}

// A node without LibTorch reports that itself when a worker needs it.
std::string NodeRoster::misfits() const {
  std::vector<std::string> parts;
  for (const auto& [number, node] : others_) {
    const std::string& other = node.info.libtorch;
    if (libtorch_.empty() || other.empty() || other == libtorch_) continue;
    parts.push_back(cat("node ", node.info.host, " has LibTorch ", other, ", and node ",
                        machine::hostname(), " has ", libtorch_,
                        ": install the same one on all nodes, or set RTRAIN_LIBTORCH"));
  }
  return join(parts, "; ");
}

std::string NodeRoster::absent() const { return spec_.join ? absent_ranks() : absent_nodes(); }

std::string NodeRoster::absent_nodes() const {
  std::vector<std::string> parts;
  const std::vector<std::string>& names = nodes_.spec().hosts;
  for (int node = 1; node < nodes_.spec().num_tasks; ++node) {
    if (others_.contains(node) || is_evicted(node)) continue;
    const auto place = static_cast<size_t>(node);
    parts.push_back(cat("node ", node, place < names.size() ? cat(" (", names[place], ")") : "",
                        " has not come"));
  }
  return join(parts, "; ");
}

// Which node has which ranks is only known from its agent.
std::string NodeRoster::absent_ranks() const {
  int count = nodes_.spec().tasks_on_node();
  std::vector<std::string> names{machine::hostname()};
  for (const auto& [number, node] : others_) {
    count += node.info.tasks;
    names.push_back(node.info.host);
  }
  const int all = nodes_.spec().num_tasks;
  if (count == all) return "";
  const std::vector<std::string>& of_launcher = nodes_.spec().hosts;
  return cat("nodes with ", all - count, " of the ", all, " ranks have not come: there are ",
             join(names, ", "), of_launcher.empty() ? "" : cat(" of ", join(of_launcher, ", ")));
}

std::string NodeRoster::evicted_text() const {
  std::vector<std::string> parts;
  for (const auto& [node, text] : evicted_) parts.push_back(text);
  return parts.empty() ? "" : cat("; evicted: ", join(parts, ", "));
}

std::string NodeRoster::devices_text(const std::vector<int>& nodes) const {
  const std::string& type = spec_.accelerator_type;
  if (type.empty()) return "";
  std::vector<std::string> parts;
  for (const int node : nodes) {
    const std::vector<std::string>& gpus = node == 0 ? gpus_ : others_.at(node).info.gpus;
    const std::set<std::string> types(gpus.begin(), gpus.end());
    const std::vector<std::string> names(types.begin(), types.end());
    parts.push_back(cat(name(node), ": ", names.empty() ? "none" : join(names, " and ")));
  }
  return cat("; accelerator_type = '", type, "', and their devices are ", join(parts, ", "));
}

}  // namespace rtrain::train
