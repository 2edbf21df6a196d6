#include "host/machine/leases/lease.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "host/base/text/text.h"
#include "host/machine/leases/gpu_request.h"
#include "host/machine/leases/lease_folder.h"
#include "host/machine/leases/resource_settings.h"
#include "host/machine/leases/runtime_folder.h"
#include "host/machine/processes/process_facts.h"

namespace rtrain::machine {
namespace {

bool is_ancestor(int pid) {
  for (int at = getppid(); at > 1; at = process_facts(at).parent) {
    if (at == pid) return true;
  }
  return false;
}

}  // namespace

std::vector<LeaseShare> LeaseTable::shares() const {
  std::vector<LeaseShare> out;
  const auto share_of = [&](const LeaseHolder& holder) -> LeaseShare& {
    const auto share = std::find_if(out.begin(), out.end(),
                                    [&](const LeaseShare& s) { return s.holder == holder; });
    return share != out.end() ? *share : out.emplace_back(LeaseShare{holder, {}, {}});
  };
  for (const HeldCore& core : held) share_of(core.holder).cores.push_back(core.core);
  for (const HeldGpu& gpu : gpus) share_of(gpu.holder).gpus.push_back(gpu);
  return out;
}

int LeaseTable::free() const { return std::max(0, offered - static_cast<int>(held.size())); }

LeaseTable read_lease_table() {
  const LeaseFolder folder;
  LeaseTable table{
      .offered = offered_cores(), .held = folder.held(), .gpus = folder.held_gpus(), .waiting = {}};
  for (const auto& ticket : folder.tickets()) table.waiting.push_back(ticket.holder);
  return table;
}

NodeLease::NodeLease(LeaseHolder self, std::vector<std::string> gpus)
    : self_(std::move(self)), uuids_(std::move(gpus)) {
  runtime_folder();
}

bool NodeLease::try_take(int min, int max) {
  return try_take([&](const LeaseCapacity& capacity) -> std::optional<LeaseRequest> {
    if (capacity.cores < min) return std::nullopt;
    return LeaseRequest{std::min(capacity.cores, max), {}};
  });
}

bool NodeLease::try_take(const Choice& choose) {
  if (borrowed_) return true;
  const LeaseFolder folder;
  if (is_inside_a_run(folder)) {
    borrowed_ = true;
    return true;
  }
  const LeaseCapacity capacity = capacity_in(folder);
  const std::optional<LeaseRequest> request = choose(capacity);
  if (!request) {
    cores_.clear();
    gpus_.clear();
    queue(folder, choose, capacity);
    return false;
  }
  resize(folder, request->cores);
  take_gpus(folder, request->gpus);
  if (ticket_.is_open()) folder.drop_ticket(ticket_number_);
  ticket_.reset();
  return true;
}

LeaseCapacity NodeLease::capacity() const {
  if (borrowed_) return {offered_cores(), std::vector<int>(uuids_.size(), kWholeGpu)};
  return capacity_in(LeaseFolder());
}

std::vector<NodeLease::Core> NodeLease::cores() const {
  std::vector<Core> out;
  for (const Taken& taken : cores_) out.push_back({taken.core, taken.file.get()});
  return out;
}

std::vector<int> NodeLease::gpu_fds() const {
  std::vector<int> out;
  for (const TakenGpu& taken : gpus_) out.push_back(taken.file.get());
  return out;
}

bool NodeLease::is_inside_a_run(const LeaseFolder& folder) const {
  if (!cores_.empty()) return false;
  const std::vector<HeldCore> held = folder.held();
  return std::any_of(held.begin(), held.end(),
                     [](const HeldCore& core) { return is_ancestor(core.holder.pid); });
}

LeaseCapacity NodeLease::capacity_in(const LeaseFolder& folder) const {
  bool is_behind = false;
  bool is_behind_for_gpus = false;
  for (const auto& ticket : folder.tickets()) {
    if (ticket_.is_open() && ticket.number >= ticket_number_) break;
    is_behind = is_behind || !ticket.request.lacks_gpus;
    is_behind_for_gpus = is_behind_for_gpus || ticket.request.wants_gpus;
  }
  LeaseCapacity capacity{offered_cores() - (static_cast<int>(folder.held().size()) - size()),
                         std::vector<int>(uuids_.size(), 0)};
  if (is_behind) capacity.cores = std::min(capacity.cores, size());
  for (const TakenGpu& own : gpus_)
    capacity.gpus[static_cast<size_t>(own.part.device)] += own.part.share;
  if (uuids_.empty() || is_behind_for_gpus) return capacity;
  for (int& left : capacity.gpus) left += kWholeGpu;
  for (const HeldGpu& gpu : folder.held_gpus()) {
    const auto at = std::find(uuids_.begin(), uuids_.end(), gpu.uuid);
    if (at != uuids_.end()) capacity.gpus[static_cast<size_t>(at - uuids_.begin())] -= gpu.share;
  }
  return capacity;
}

void NodeLease::resize(const LeaseFolder& folder, int count) {
  while (size() > count) cores_.pop_back();
  for (int core = 0; size() < count; ++core) {
    Fd file = folder.take_core(core, self_);
    if (file.is_open()) cores_.push_back({core, std::move(file)});
  }
}

// Keeps devices that are held already: a worker of the attempt before may still use them.
void NodeLease::take_gpus(const LeaseFolder& folder, const std::vector<GpuPart>& parts) {
  std::vector<TakenGpu> out;
  for (const GpuPart& part : parts) {
    const auto own = std::find_if(gpus_.begin(), gpus_.end(), [&](const TakenGpu& taken) {
      return taken.file.is_open() && taken.part == part;
    });
    const std::string& uuid = uuids_[static_cast<size_t>(part.device)];
    out.push_back({part, own != gpus_.end() ? std::move(own->file)
                                            : folder.take_gpu({uuid, part.share, self_})});
  }
  gpus_ = std::move(out);
}

void NodeLease::queue(const LeaseFolder& folder, const Choice& choose, LeaseCapacity capacity) {
  if (!ticket_.is_open()) {
    auto ticket = folder.take_ticket(self_);
    ticket_ = std::move(ticket.file);
    ticket_number_ = ticket.number;
  }
  capacity.cores = std::max(capacity.cores, offered_cores());
  const bool wants_gpus = !uuids_.empty();
  folder.write_ticket(ticket_, self_, {wants_gpus, wants_gpus && !choose(capacity)});
}

}  // namespace rtrain::machine
