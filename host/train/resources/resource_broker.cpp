#include "host/train/resources/resource_broker.h"

#include <unistd.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "host/base/clock.h"
#include "host/base/text/counted.h"
#include "host/base/text/text.h"
#include "host/machine/leases/resource_settings.h"
#include "host/machine/machine.h"

namespace rtrain::train {
namespace {

constexpr std::chrono::milliseconds kPoll{100};
// Delay of the first notice, because a run that is just ending needs none.
constexpr double kFirstNoticeS = 0.5;

// "'a' (pid 12, 3 cores), 'b' (pid 14, 1 core, 0.5 GPU)".
std::string holders_text(const machine::LeaseTable& table) {
  std::vector<std::string> parts;
  for (const machine::LeaseShare& share : table.shares()) {
    int gpus = 0;
    for (const machine::HeldGpu& gpu : share.gpus) gpus += gpu.share;
    parts.push_back(cat("'", share.holder.run, "' (pid ", share.holder.pid, ", ",
                        counted(share.cores.size(), "core"),
                        gpus > 0 ? cat(", ", machine::gpus_text(gpus)) : "", ")"));
  }
  return join(parts, ", ");
}

// Without GPUs "2 cores", with them "2 cores and 1 GPU".
std::string needed_text(const ResourceRequest& request, const machine::LeaseTable& table) {
  const decide::CoreRequest::Amount amount = request.cores().amount(table.offered);
  const int gpus = request.gpus().least();
  return cat(amount.min == amount.max ? "" : "at least ",
             counted(static_cast<size_t>(amount.min), "core"),
             gpus > 0 ? cat(" and ", machine::gpus_text(gpus)) : "");
}

// ", 0.5 of 2 GPUs".
std::string free_gpus_text(const machine::LeaseTable& table,
                           const std::vector<std::string>& uuids) {
  int free = static_cast<int>(uuids.size()) * machine::kWholeGpu;
  for (const machine::HeldGpu& gpu : table.gpus) {
    if (std::find(uuids.begin(), uuids.end(), gpu.uuid) != uuids.end()) free -= gpu.share;
  }
  return cat(", ", static_cast<double>(std::max(0, free)) / machine::kWholeGpu, " of ",
             counted(uuids.size(), "GPU"));
}

// "; in use by 'a' (pid 12, 3 cores)".
std::string in_use_text(const machine::LeaseTable& table) {
  return table.held.empty() ? "" : cat("; in use by ", holders_text(table));
}

// Options for a user who does not want to wait. More cores do not help a run that waits for a
// GPU.
std::string ways_out(const ResourceRequest& request, const machine::LeaseTable& table) {
  const int needed = request.cores().amount(table.offered).min;
  std::string text = "; to begin now: --oversubscribe (share what is in use)";
  if (table.free() >= needed) return text;
  return cat(text,
             ", or `rtrain resources --set cpus=", static_cast<int>(table.held.size()) + needed,
             "` (offer more cores)");
}

// The text of a waiting run: what it needs, what is free, and who has the rest.
std::string waiting_text(const ResourceRequest& request, const std::vector<std::string>& uuids,
                         const machine::LeaseTable& table) {
  const auto self = static_cast<int>(getpid());
  std::string text = cat(
      "waiting for ", needed_text(request, table), ": ", table.free(), " of ", table.offered,
      uuids.empty() ? ""
                    : cat(table.offered == 1 ? " core" : " cores", free_gpus_text(table, uuids)),
      table.offered == 1 && uuids.empty() ? " is free" : " are free");
  text += in_use_text(table);
  size_t ahead = 0;
  for (const machine::LeaseHolder& waiting : table.waiting) {
    if (waiting.pid == self) break;
    ++ahead;
  }
  if (ahead > 0)
    text += cat("; ", counted(ahead, "run"), ahead == 1 ? " was" : " were", " here earlier");
  return text;
}

// Whether the script itself sets the devices that workers see.
bool has_own_devices(const RunSpec& spec) {
  return std::any_of(spec.worker_env.begin(), spec.worker_env.end(),
                     [](const auto& each) { return each.first == node::kVisibleDevices; });
}

}  // namespace

std::optional<Error> impossible_request(const RunSpec& spec) {
  const decide::Placement placement(spec.placement_strategy, /*may_share=*/true);
  if (auto error = placement.impossible(spec.max_workers, {{.host = machine::hostname()}}))
    return error;
  const decide::CoreRequest request(spec.min_workers, spec.max_workers,
                                    spec.total_cpus_per_worker());
  int cores = machine::available_cores();
  try {
    cores = std::max(cores, machine::offered_cores());
  } catch (const Error&) {
    // The broker reports it.
  }
  if (auto error = request.impossible(cores)) return error;
  return impossible_gpus(spec);
}

ResourceBroker::ResourceBroker(const RunSpec& spec, loop::Loop& loop, loop::TaskThread& io,
                               const node::NodeFiles& files, Notice notice)
    : spec_(spec),
      loop_(loop),
      io_(io),
      files_(files),
      request_(spec.min_workers, spec.max_workers, spec.total_cpus_per_worker(),
               spec.gpus_per_worker),
      gpus_(find_run_gpus(spec)),
      notice_(std::move(notice)),
      poll_(loop, [this] { ask(); }) {}

ResourceBroker::~ResourceBroker() = default;

void ResourceBroker::request(std::function<void(int)> on_granted) {
  const bool is_fixed = spec_.min_workers == spec_.max_workers;
  if (held_ && is_fixed) return on_granted(spec_.max_workers);
  if (without_) return on_granted(whole_node(machine::available_cores()).workers);
  on_granted_ = std::move(on_granted);
  waiting_since_s_ = monotonic_s();
  next_notice_s_ = *waiting_since_s_ + kFirstNoticeS;
  ask();
}

void ResourceBroker::cancel() {
  on_granted_ = nullptr;
  end_waiting();
  poll_.stop();
}

void ResourceBroker::ask() {
  io_.post([this] {
    Answer answer;
    answer.offered = machine::available_cores();
    try {
      answer = take();
    } catch (const Error& e) {
      // If another process holds the lock for long, the run still needs its cores.
      if (e.code() == Code::kTimeout) {
        answer.waiting_for = e.message();
      } else {
        answer.without = cat(gpus_.uuids.empty() ? "cores are" : "cores and GPUs are",
                             " not shared with other runs: ", e.message());
      }
    }
    loop_.post([this, answer = std::move(answer)] { on_answer(answer); });
  });
}

ResourceBroker::Answer ResourceBroker::take() {
  if (!lease_) {
    const machine::LeaseHolder self{spec_.name, static_cast<int>(getpid())};
    lease_ = std::make_unique<machine::NodeLease>(self, gpus_.uuids);
  }
  Answer answer;
  answer.offered = machine::offered_cores();
  if (spec_.oversubscribe) {
    answer.without = cat("takes no cores of its own (--oversubscribe)",
                         in_use_text(machine::read_lease_table()));
    return answer;
  }
  const auto choose =
      [&](const machine::LeaseCapacity& capacity) -> std::optional<machine::LeaseRequest> {
    answer.grant = request_.grant(capacity, answer.offered);
    if (!answer.grant) return std::nullopt;
    return answer.grant->request(request_.gpus().share());
  };
  if (!lease_->try_take(choose)) {
    answer.grant.reset();
    const machine::LeaseTable table = machine::read_lease_table();
    answer.waiting_for = waiting_text(request_, gpus_.uuids, table);
    answer.ways_out = ways_out(request_, table);
    return answer;
  }
  if (lease_->is_borrowed()) answer.grant = whole_node(answer.offered);
  answer.cores = lease_->cores();
  answer.gpu_fds = lease_->gpu_fds();
  return answer;
}

machine::LeaseCapacity ResourceBroker::all_gpus(int cores) const {
  return {cores, machine::FreeGpus(gpus_.uuids.size(), machine::kWholeGpu)};
}

// As large as the node allows, but never below the minimum.
ResourceRequest::Grant ResourceBroker::whole_node(int offered) const {
  const machine::LeaseCapacity capacity = all_gpus(offered);
  ResourceRequest::Grant out;
  out.workers = std::max(spec_.min_workers, request_.workers(capacity));
  out.gpus = request_.gpus().place(capacity.gpus, out.workers).value_or(machine::GpuPlaces{});
  return out;
}

void ResourceBroker::on_answer(const Answer& answer) {
  if (!on_granted_) return;
  if (!answer.grant && answer.without.empty()) {
    if (files_.zygote != nullptr) files_.zygote->end();  // while queued it would only use memory
    tell_waiting(answer);
    return poll_.start(kPoll);
  }
  end_waiting();
  ResourceRequest::Grant grant;
  if (answer.grant) {
    grant = *answer.grant;
    if (!held_) tell_crowd(grant.workers, answer.offered);
    held_ = true;
  } else {
    grant = whole_node(answer.offered);
    without_ = true;
    notice_(answer.without);
    tell_crowd(grant.workers, answer.offered);
  }
  cores_ = answer.cores;
  gpu_places_ = std::move(grant.gpus);
  gpu_fds_ = answer.gpu_fds;
  std::exchange(on_granted_, nullptr)(grant.workers);
}

void ResourceBroker::tell_waiting(const Answer& answer) {
  const double now = monotonic_s();
  if (now < next_notice_s_) return;
  next_notice_s_ = now + spec_.resource_notice_s;
  const auto waited = static_cast<int64_t>(now - waiting_since_s_.value_or(now));
  notice_(waited == 0 ? cat(answer.waiting_for, answer.ways_out)
                      : cat(answer.waiting_for, " (for ", waited, " s now)"));
}

void ResourceBroker::tell_crowd(int workers, int offered) {
  if (!request_.cores().is_crowded(offered)) return;
  const int cores = std::max(1, offered);
  notice_(cat(workers, " workers share ", counted(static_cast<size_t>(cores), "core"),
              ": they take turns, so the run is no faster than with ",
              counted(static_cast<size_t>(cores), "worker"), " (-n ", cores, ")"));
}

void ResourceBroker::end_waiting() {
  waited_s_ = waited_s();
  waiting_since_s_.reset();
}

double ResourceBroker::waited_s() const {
  return waited_s_ + (waiting_since_s_ ? monotonic_s() - *waiting_since_s_ : 0);
}

void ResourceBroker::look(std::function<void(int)> on_seen) {
  if (without_) return on_seen(request_.workers(all_gpus(machine::available_cores())));
  io_.post([this, on_seen = std::move(on_seen)] {
    int workers = 0;
    try {
      workers = request_.workers(lease_->capacity());
    } catch (const Error&) {
      // The lock is busy or the folder is missing: uses the current capacity.
      workers = request_.workers(all_gpus(lease_->size()));
    }
    loop_.post([on_seen, workers] { on_seen(workers); });
  });
}

NodeGroup ResourceBroker::nodes(const node::NodeOrder& order, node::NodeDelegate& delegate) {
  NodeGroup out;
  out.add({.node = std::make_unique<node::LocalNode>(loop_, order, files_, *this, delegate),
           .name = machine::hostname(),
           .num_workers = order.num_workers});
  return out;
}

node::WorkerPlace ResourceBroker::place(int rank, int num_workers) const {
  node::WorkerPlace out;
  const std::vector<int> processors = machine::own_processors();
  bool bound = spec_.cpus_per_worker > 0;
  for (const machine::NodeLease::Core& core : share(rank, num_workers)) {
    out.lease_fds.push_back(core.fd);
    const auto number = static_cast<size_t>(core.core);
    if (number < processors.size()) {
      out.cpus.push_back(processors[number]);
    } else {
      bound = false;  // more cores are offered than exist
    }
  }
  if (!bound) out.cpus.clear();
  add_gpus(rank, out);
  return out;
}

// The worker's numbers for its devices: positions among all workers' devices or, if the workers'
// environment is this process's own, this process's numbers.
void ResourceBroker::add_gpus(int rank, node::WorkerPlace& place) const {
  const std::vector<int> used = used_gpus();
  const bool is_union = visible_devices().has_value();
  size_t first_fd = 0;
  for (int before = 0; before < rank && before < static_cast<int>(gpu_places_.size()); ++before) {
    first_fd += gpu_places_[static_cast<size_t>(before)].size();
  }
  if (rank >= static_cast<int>(gpu_places_.size())) return;
  for (const int device : gpu_places_[static_cast<size_t>(rank)]) {
    if (first_fd < gpu_fds_.size()) place.lease_fds.push_back(gpu_fds_[first_fd++]);
    const auto position = std::find(used.begin(), used.end(), device) - used.begin();
    const auto at = static_cast<size_t>(device);
    place.gpus.push_back({.number = is_union ? static_cast<int>(position) : gpus_.numbers[at],
                          .uuid = gpus_.uuids[at],
                          .name = gpus_.names[at]});
  }
}

std::vector<int> ResourceBroker::used_gpus() const {
  std::set<int> used;
  for (const std::vector<int>& devices : gpu_places_) used.insert(devices.begin(), devices.end());
  return {used.begin(), used.end()};
}

std::optional<std::string> ResourceBroker::visible_devices() const {
  if (spec_.is_local || has_own_devices(spec_)) return std::nullopt;
  const std::vector<int> used = used_gpus();
  if (!used.empty() && static_cast<int>(used.size()) == gpus_.visible) return std::nullopt;
  std::vector<std::string> uuids;
  for (const int device : used) uuids.push_back(gpus_.uuids[static_cast<size_t>(device)]);
  return join(uuids, ",");
}

std::vector<machine::NodeLease::Core> ResourceBroker::share(int rank, int num_workers) const {
  const auto count = static_cast<int>(cores_.size());
  if (count == 0) return {};
  if (count < num_workers) return {cores_[static_cast<size_t>(rank % count)]};
  const int each = count / num_workers;
  return {cores_.begin() + rank * each, cores_.begin() + (rank + 1) * each};
}

}  // namespace rtrain::train
