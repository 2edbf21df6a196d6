#include "host/base/lease.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "host/base/lease_folder.h"
#include "host/base/process_facts.h"
#include "host/base/resource_settings.h"
#include "host/base/runtime_folder.h"
#include "host/base/text.h"

namespace rtrain {
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
  for (const HeldCore& core : held) {
    auto share = std::find_if(out.begin(), out.end(),
                              [&](const LeaseShare& s) { return s.holder == core.holder; });
    if (share == out.end()) share = out.insert(share, {core.holder, {}});
    share->cores.push_back(core.core);
  }
  return out;
}

int LeaseTable::free() const { return std::max(0, offered - static_cast<int>(held.size())); }

LeaseTable read_lease_table() {
  const LeaseFolder folder;
  LeaseTable table{.offered = offered_cores(), .held = folder.held(), .waiting = {}};
  for (const auto& ticket : folder.tickets()) table.waiting.push_back(ticket.holder);
  return table;
}

CoreLease::CoreLease(LeaseHolder self) : self_(std::move(self)) { runtime_folder(); }

bool CoreLease::try_take(int min, int max) {
  if (borrowed_) return true;
  const LeaseFolder folder;
  const int offered = offered_cores();
  const std::vector<HeldCore> held = folder.held();
  if (cores_.empty() && std::any_of(held.begin(), held.end(), [](const HeldCore& core) {
        return is_ancestor(core.holder.pid);
      })) {
    borrowed_ = true;
    return true;
  }
  int allowed = offered - (static_cast<int>(held.size()) - size());
  if (is_behind(folder)) allowed = std::min(allowed, size());
  if (allowed < min) {
    cores_.clear();
    queue(folder);
    return false;
  }
  resize(folder, std::min(allowed, max));
  if (ticket_.is_open()) folder.drop_ticket(ticket_number_);
  ticket_.reset();
  return true;
}

int CoreLease::room() const {
  if (borrowed_) return offered_cores();
  const LeaseFolder folder;
  const int allowed = offered_cores() - (static_cast<int>(folder.held().size()) - size());
  return is_behind(folder) ? std::min(allowed, size()) : allowed;
}

std::vector<CoreLease::Core> CoreLease::cores() const {
  std::vector<Core> out;
  for (const Taken& taken : cores_) out.push_back({taken.core, taken.file.get()});
  return out;
}

// Somebody waits who came earlier.
bool CoreLease::is_behind(const LeaseFolder& folder) const {
  const auto tickets = folder.tickets();
  if (tickets.empty()) return false;
  return !ticket_.is_open() || tickets.front().number < ticket_number_;
}

void CoreLease::resize(const LeaseFolder& folder, int count) {
  while (size() > count) cores_.pop_back();
  for (int core = 0; size() < count; ++core) {
    Fd file = folder.take_core(core, self_);
    if (file.is_open()) cores_.push_back({core, std::move(file)});
  }
}

void CoreLease::queue(const LeaseFolder& folder) {
  if (ticket_.is_open()) return;
  auto ticket = folder.take_ticket(self_);
  ticket_ = std::move(ticket.file);
  ticket_number_ = ticket.number;
}

}  // namespace rtrain
