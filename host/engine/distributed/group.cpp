#include "host/engine/distributed/group.h"

#include <ATen/Context.h>
#include <signal.h>

#include <algorithm>
#include <cstdlib>
#include <future>
#include <thread>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>

#include "host/base/clock.h"
#include "host/base/text/text.h"
#include "host/engine/cuda/cuda.h"
#include "host/engine/distributed/arrival.h"
#include "host/engine/distributed/backend_choice.h"
#include "host/engine/distributed/gloo/cuttable_gloo.h"
#include "host/engine/distributed/gloo/peer_error.h"
#include "host/engine/distributed/hierarchical_backend.h"
#include "host/engine/distributed/nccl_group.h"
#include "host/engine/distributed/node_plan.h"
#include "host/engine/distributed/reducer.h"
#include "host/engine/distributed/shm/backend.h"
#include "host/engine/distributed/tensor_texts.h"
#include "host/engine/distributed/watched_backend.h"
#include "host/engine/runtime/blocking.h"
#include "host/engine/runtime/phase_region.h"
#include "host/engine/runtime/recording_listener.h"

namespace rtrain::engine {
namespace {

constexpr std::chrono::milliseconds kRendezvousTimeout = std::chrono::seconds(60);
constexpr std::chrono::milliseconds kLookForCut{5};
constexpr const char* kLoopback = "127.0.0.1";

// If the user sets GLOO_SOCKET_IFNAME, that chooses the network interface to other nodes.
std::shared_ptr<gloo::transport::Device> gloo_device(const std::string& address) {
  if (address.empty()) return c10d::ProcessGroupGloo::createDeviceForHostname(kLoopback);
  const char* chosen = std::getenv("GLOO_SOCKET_IFNAME");
  if (chosen == nullptr || *chosen == '\0') {
    return c10d::ProcessGroupGloo::createDeviceForHostname(address);
  }
  const std::string_view names = chosen;
  return c10d::ProcessGroupGloo::createDeviceForInterface(
      std::string(names.substr(0, names.find(','))));
}

// Gloo writes to sockets without MSG_NOSIGNAL: unless SIGPIPE is ignored, a lost peer would kill
// this rank.
void ignore_broken_pipes() {
  struct sigaction current;
  if (sigaction(SIGPIPE, nullptr, &current) != 0 || current.sa_handler != SIG_DFL) return;
  current.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &current, nullptr);
}

struct GlooPlace {
  int rank = 0;
  int size = 1;
  std::chrono::milliseconds wait;  // how long to wait for the other ranks
};

// Ends with a barrier: a rank that left earlier would break connections that others are still
// making.
template <class Gloo, class... Before>
c10::intrusive_ptr<Gloo> make_gloo(const GroupOptions& group,
                                   const c10::intrusive_ptr<c10d::Store>& store,
                                   const GlooPlace& place, Before... before) {
  auto options = c10d::ProcessGroupGloo::Options::create(place.wait);
  options->devices.push_back(gloo_device(group.address));
  auto out = c10::make_intrusive<Gloo>(std::move(before)...,
                                       c10::make_intrusive<c10d::PrefixStore>("gloo", store),
                                       place.rank, place.size, options);
  out->c10d::ProcessGroupGloo::barrier(c10d::BarrierOptions())->wait();
  out->setTimeout(group.timeout);
  return out;
}

// The same on a detached thread. When the connections are cut, throws Error(kPeerLost) and abandons
// the thread, because Gloo would wait until its deadline for a peer that never connects.
template <class Gloo, class... Before>
c10::intrusive_ptr<Gloo> connect_gloo(const std::shared_ptr<GlooConnections>& connections,
                                      const GroupOptions& group,
                                      const c10::intrusive_ptr<c10d::Store>& store,
                                      const GlooPlace& place, Before... before) {
  std::packaged_task<c10::intrusive_ptr<Gloo>()> make(
      [=] { return make_gloo<Gloo>(group, store, place, before..., connections); });
  auto made = make.get_future();
  std::thread(std::move(make)).detach();
  while (made.wait_for(kLookForCut) != std::future_status::ready) {
    if (connections->is_cut()) throw Error(Code::kPeerLost, "a rank was lost while it connected");
  }
  return made.get();
}

std::string device_uuid(int device) {
  return device < 0 ? "" : need_cuda().devices.properties(device).uuid;
}

}  // namespace

Group::Group(const GroupOptions& options, const c10::intrusive_ptr<c10d::Store>& store,
             const api::HostApi& host)
    : options_(options), host_(host), store_(store) {
  if (options.world_size < 1 || options.rank < 0 || options.rank >= options.world_size) {
    throw Error(Code::kArgument, cat("rank ", options.rank, " of a world of ", options.world_size,
                                     ": ranks count from 0 and are below the world size"));
  }
  if (!options.ranks.empty()) {
    members_ = std::make_shared<api::CollectiveGroup>(
        api::CollectiveGroup{.id = options.group, .ranks = options.ranks, .count = 0});
  }
  call("init_process_group", [this] { connect(); });
}

Group::~Group() { close(); }

void Group::connect() {
  ignore_broken_pipes();
  const std::chrono::milliseconds wait = std::min(kRendezvousTimeout, options_.timeout);
  store_->setTimeout(wait);
  const auto scoped =
      c10::make_intrusive<c10d::PrefixStore>(cat("group/", options_.prefix), store_);
  const Transports transports = transports_of(options_.backend);
  moves_cuda_ = transports.cuda != CudaTransport::kNone;
  const bool has_devices = at::globalContext().hasCUDA();
  const bool asks_devices =
      transports.cuda == CudaTransport::kNcclOrGloo || transports.cuda == CudaTransport::kNccl;
  Arrival mine{.device = asks_devices ? device_uuid(options_.device) : "",
               .node = cat(options_.address, " ", options_.node),
               .problem = ""};
  const bool shares_memory = transports.cpu != CpuTransport::kGloo;
  const bool is_one_host = options_.address.empty();
  if (shares_memory && is_one_host) {
    mine.problem = join_segment(*scoped, 0, options_.rank, options_.world_size);
  }
  const std::vector<Arrival> arrivals =
      synchronize(*scoped, {.name = "connected", .rank = rank(), .num_ranks = world_size()}, mine);
  std::string problem = problem_of(arrivals);
  std::vector<std::string> devices, nodes;
  for (const Arrival& each : arrivals) {
    devices.push_back(each.device);
    nodes.push_back(each.node);
  }
  const NodePlan plan = plan_nodes(nodes);
  const CudaChoice choice = choose_cuda(transports.cuda, devices);
  group_ = c10::make_intrusive<c10d::ProcessGroup>(scoped, options_.rank, options_.world_size);
  const bool shares_hosts = shares_memory && !is_one_host && plan.has_neighbours();
  if (shares_hosts) problem = join_neighbours(*scoped, plan);
  if (transports.cpu == CpuTransport::kOnlyShm && plan.num_hosts() > 1) {
    problem = "the ranks are on several nodes";
  }
  if (transports.cpu == CpuTransport::kOnlyShm && !problem.empty()) {
    throw Error(Code::kEnvironment, cat("backend 'shm': ", problem));
  }
  connections_->begin();
  if (segment_ != nullptr && problem.empty()) {
    plan.num_hosts() == 1 ? connect_shm() : connect_hosts(scoped, plan, wait);
  }
  const bool cuda_over_gloo = has_devices && !choice.uses_nccl && moves_cuda_;
  if (!runs_in_call_ || cuda_over_gloo) {
    const auto gloo = connect_gloo<Watched<CuttableGloo>>(
        connections_, options_, scoped, {.rank = rank(), .size = world_size(), .wait = wait},
        notifier());
    if (!runs_in_call_) {
      group_->setBackend(c10::kCPU, c10d::ProcessGroup::BackendType::GLOO, gloo);
    }
    if (cuda_over_gloo) {
      group_->setBackend(c10::kCUDA, c10d::ProcessGroup::BackendType::GLOO, gloo);
    }
    group_->setDefaultBackend(c10d::ProcessGroup::BackendType::GLOO);
  }
  connections_->end();
  if (runs_in_call_) group_->setDefaultBackend(c10d::ProcessGroup::BackendType::CUSTOM);
  if (choice.uses_nccl) connect_nccl(scoped, wait);
  group_->setGroupName(cat("rtrain/", options_.prefix));
  if (options_.rank != 0 || members_ != nullptr || host_.warn == nullptr) return;
  if (!choice.reason.empty()) host_.warn(cat("CUDA tensors travel over Gloo: ", choice.reason));
  if (shares_memory && !problem.empty()) {
    host_.warn(cat("CPU tensors travel over Gloo: ", problem));
  }
}

// Opens the node's shared segment, which the node's first rank creates. Returns why that is not
// possible, or "".
std::string Group::join_segment(c10d::Store& store, int host, int place, int num_ranks) {
  const std::string key = cat("segment/", host);
  try {
    if (place == 0) {
      segment_ = std::make_shared<ShmSegment>(ShmSegment::create(0, num_ranks));
      store.set(key, segment_->address().to_text());
      return "";
    }
    const auto address = ShmSegment::Address::parse(store.get_to_str(key));
    segment_ = std::make_shared<ShmSegment>(ShmSegment::open(address, place, num_ranks));
    return "";
  } catch (const Error& e) {
    if (e.code() != Code::kEnvironment) throw;
    if (place == 0) store.set(key, "none");
    return e.message();
  }
}

void Group::connect_shm() {
  segment_->seal(options_.ranks);
  shm_ = c10::make_intrusive<Watched<ShmBackend>>(notifier(), segment_, options_.timeout);
  group_->setBackend(c10::kCPU, c10d::ProcessGroup::BackendType::CUSTOM, shm_);
  runs_in_call_ = true;
}

// The same if ranks are on several nodes. Returns the first rank's problem, or "".
std::string Group::join_neighbours(c10d::Store& store, const NodePlan& plan) {
  const int host = plan.host_of[static_cast<size_t>(rank())];
  Arrival mine;
  mine.problem = join_segment(store, host, plan.place_of(rank()),
                              static_cast<int>(plan.neighbours(rank()).size()));
  const std::string problem = problem_of(
      synchronize(store, {.name = "sharing", .rank = rank(), .num_ranks = world_size()}, mine));
  if (!problem.empty()) segment_.reset();
  return problem;
}

void Group::connect_hosts(const c10::intrusive_ptr<c10d::Store>& store, const NodePlan& plan,
                          std::chrono::milliseconds wait) {
  const int host = plan.host_of[static_cast<size_t>(rank())];
  std::vector<int> names;
  for (const int each : plan.neighbours(rank())) names.push_back(global_rank(each));
  segment_->seal(names);
  HierarchicalBackend::Parts parts{.plan = plan, .segment = segment_, .between = {}, .all = {}};
  // Uses its own key prefix, because CUDA tensors may use a Gloo of all ranks too.
  const auto all = c10::make_intrusive<c10d::PrefixStore>("all", store);
  parts.all = connect_gloo<CuttableGloo>(connections_, options_, all,
                                         {.rank = rank(), .size = world_size(), .wait = wait});
  if (segment_->rank() == 0) {
    const auto between = c10::make_intrusive<c10d::PrefixStore>("between", store);
    parts.between = connect_gloo<CuttableGloo>(
        connections_, options_, between, {.rank = host, .size = plan.num_hosts(), .wait = wait});
  }
  auto backend = c10::make_intrusive<Watched<HierarchicalBackend>>(
      notifier(), rank(), world_size(), std::move(parts), options_.timeout);
  group_->setBackend(c10::kCPU, c10d::ProcessGroup::BackendType::CUSTOM, std::move(backend));
  runs_in_call_ = true;
}

const char* Group::backend_name() const {
  if (uses_nccl()) return "nccl";
  return uses_shm() && options_.device < 0 ? "shm" : "gloo";
}

TensorPlace* Group::tensor_place() const { return shm_ == nullptr ? nullptr : shm_->arena().get(); }

NotifyCollective Group::notifier() {
  const auto begin = [this](const std::string& operation, const std::vector<at::Tensor>& tensors) {
    if (host_.enter_collective == nullptr) return uint64_t{0};
    return host_.enter_collective(operation.c_str(), describe_tensors(tensors), members_.get());
  };
  return {.begin = begin, .host = &host_};
}

void Group::connect_nccl(const c10::intrusive_ptr<c10d::Store>& store,
                         std::chrono::milliseconds wait) {
  const CudaGroupsApi& api = need_cuda().groups;
  const NcclGroupOptions options{.rank = options_.rank,
                                 .world_size = options_.world_size,
                                 .device = options_.device,
                                 .timeout = options_.timeout,
                                 .start_timeout = wait,
                                 .is_high_priority_stream = options_.is_high_priority_stream,
                                 .members = members_};
  nccl_ = std::make_unique<NcclGroup>(options, api,
                                      c10::make_intrusive<c10d::PrefixStore>("nccl", store), host_);
  // The group passes its device on to backends that are added to it.
  group_->setBoundDeviceId(at::Device(at::kCUDA, static_cast<c10::DeviceIndex>(options_.device)));
  group_->setBackend(c10::kCUDA, c10d::ProcessGroup::BackendType::NCCL, nccl_->backend());
  group_->setDefaultBackend(c10d::ProcessGroup::BackendType::NCCL);
  if (host_.set_device_trace != nullptr) host_.set_device_trace(api.trace);
}

void Group::check_device(const char* operation, const at::Tensor& tensor) const {
  if (!tensor.is_cuda()) return;
  if (!moves_cuda_) {
    throw Error(Code::kArgument, cat(operation,
                                     ": the backend 'shm' moves tensors of the CPU: set "
                                     "torch_config = {backend = 'cpu:shm,cuda:nccl'} for both"));
  }
  if (nccl_ == nullptr || tensor.get_device() == nccl_->device()) return;
  throw Error(Code::kArgument, cat(operation, ": the tensor is on cuda:", tensor.get_device(),
                                   ", and this rank's group on cuda:", nccl_->device(),
                                   ": move it there with :to(device)"));
}

void Group::check_usable(const char* operation) const {
  const std::optional<Error> on_device = nccl_ == nullptr ? std::nullopt : nccl_->failure();
  const std::optional<Error>& failure = on_device ? on_device : failure_;
  if (!failure) return;
  throw Error(failure->code(),
              cat(operation, ": the process group failed before: ", failure->message()));
}

std::string Group::timeout_setting() const {
  if (has_timeout_ != nullptr) return cat("timeout_s of ", has_timeout_);
  return members_ == nullptr ? "torch_config = {timeout_s = …}" : "timeout_s of new_group";
}

Error Group::located(const char* operation, const Error& error, double waited_s) const {
  const std::string where =
      cat(operation, " on rank ", global_rank(options_.rank),
          members_ == nullptr ? cat(" of ", options_.world_size) : " in " + members_->text());
  if (error.code() == Code::kTimeout) {
    const std::string absent =
        host_.absent_ranks == nullptr ? "" : host_.absent_ranks(0, members_.get()).value_or("");
    return Error(Code::kTimeout,
                 cat(where, " waited ", static_cast<int64_t>(waited_s), " s for the other ranks (",
                     absent.empty() ? error.message() : absent,
                     "): every rank must call the same collectives in the same ",
                     "order; a longer wait is set with ", timeout_setting()));
  }
  return Error(Code::kPeerLost,
               cat(where, " failed because another rank is gone (", error.message(), ")"));
}

void Group::call(const char* operation, const std::function<void()>& body, WaitKind kind) {
  if (RecordingListener* recording = RecordingListener::current()) {
    recording->refuse(cat("it exchanges tensors with other ranks (", operation, ")"));
  }
  const PhaseRegion phase(host_, TrainPhase::kCommunication);
  if (members_ == nullptr) {
    const BlockingRegion region(host_, kind, operation);
    return guard(operation, body);
  }
  // The hang watch compares collectives of all ranks. A group of some ranks only has its own
  // deadline.
  const std::string shown = cat(operation, " of ", members_->text());
  const BlockingRegion region(host_, WaitKind::kBounded, shown.c_str());
  guard(operation, body);
}

void Group::guard(const char* operation, const std::function<void()>& body) {
  check_usable(operation);
  const double start_s = monotonic_s();
  std::optional<Error> cause;
  try {
    body();
  } catch (const Error& error) {
    if (error.code() != Code::kPeerLost && error.code() != Code::kTimeout) throw;
    cause = error;
  } catch (const c10::Error& error) {
    cause = peer_error(error.what_without_backtrace());
    if (!cause) throw;
  } catch (const std::exception& error) {
    cause = peer_error(error.what());
    if (!cause) throw;
  }
  if (!cause) return;
  // If the connections were cut, Gloo's time-out means that a peer was lost.
  if (connections_->is_cut()) cause = Error(Code::kPeerLost, cause->message());
  failure_ = located(operation, *cause, monotonic_s() - start_s);
  throw Error(*failure_);
}

void Group::check_peers(const char* operation) {
  guard(operation, [this] {
    if (connections_->is_cut()) throw lost_peer();
  });
}

int Group::global_rank(int rank) const {
  return members_ == nullptr ? rank : members_->ranks[static_cast<size_t>(rank)];
}

int Group::rank_of(int global_rank) const {
  if (members_ == nullptr) {
    return global_rank >= 0 && global_rank < options_.world_size ? global_rank : -1;
  }
  const auto found = std::ranges::find(members_->ranks, global_rank);
  return found == members_->ranks.end() ? -1 : static_cast<int>(found - members_->ranks.begin());
}

int Group::member(const char* operation, int global_rank) const {
  const int out = rank_of(global_rank);
  if (out >= 0) return out;
  if (members_ != nullptr) {
    throw Error(Code::kArgument,
                cat(operation, ": rank ", global_rank, " is not in ", members_->text()));
  }
  throw Error(Code::kArgument, cat(operation, ": there is no rank ", global_rank, " in a world of ",
                                   options_.world_size, " (ranks count from 0)"));
}

int Group::peer(const char* operation, int global_rank) const {
  const int out = member(operation, global_rank);
  if (out != rank()) return out;
  throw Error(Code::kArgument, cat(operation, ": rank ", global_rank,
                                   " is this rank itself: messages go to other ranks"));
}

std::shared_ptr<Group> Group::new_group(const NewGroupOptions& wanted) {
  if (members_ != nullptr) {
    throw Error(Code::kArgument, "new_group: a group is made of ranks of the whole world");
  }
  std::vector<int> ranks = wanted.ranks;
  if (ranks.empty()) {
    for (int each = 0; each < world_size(); ++each) ranks.push_back(each);
  }
  for (const int each : ranks) member("new_group", each);
  std::ranges::sort(ranks);
  if (std::ranges::adjacent_find(ranks) != ranks.end()) {
    throw Error(Code::kArgument, "new_group: a rank is given twice");
  }
  GroupOptions options = options_;
  options.prefix = cat(options_.prefix, "/group-", ++num_groups_);
  options.group = num_groups_;
  options.world_size = static_cast<int>(ranks.size());
  options.timeout = wanted.timeout;
  options.backend = wanted.backend;
  options.ranks = std::move(ranks);
  const auto own = std::ranges::find(options.ranks, rank());
  std::shared_ptr<Group> out;
  call("new_group", [&] {
    if (host_.enter_collective != nullptr) {
      const api::CollectiveGroup shown{.id = 0, .ranks = options.ranks, .count = 0};
      host_.enter_collective("new_group", shown.text(), nullptr);
    }
    if (own == options.ranks.end()) return;
    options.rank = static_cast<int>(own - options.ranks.begin());
    out = std::make_shared<Group>(options, store_, host_);
    groups_.push_back(out);
  });
  return out;
}

void Group::with_timeout(const char* operation, std::chrono::milliseconds timeout,
                         const std::function<void()>& body) {
  check_usable(operation);
  const auto backend = group_->getBackend(c10::kCPU);
  struct Scope {
    ~Scope() {
      backend->setTimeout(group.options_.timeout);
      group.has_timeout_ = nullptr;
    }
    Group& group;
    const c10::intrusive_ptr<c10d::Backend>& backend;
  } const scope{.group = *this, .backend = backend};
  has_timeout_ = operation;
  backend->setTimeout(timeout);
  body();
}

void Group::wait_for_device(const char* operation) {
  if (nccl_ == nullptr) return;
  call(operation, [this] {
    need_cuda().devices.synchronize(nccl_->device());
    // The device's work also ends when the group was aborted.
    if (const std::optional<Error> failure = nccl_->failure()) throw Error(*failure);
  });
}

void Group::close() noexcept {
  for (const auto& weak : reducers_) {
    if (const auto reducer = weak.lock()) reducer->close();
  }
  reducers_.clear();
  for (const auto& weak : groups_) {
    if (const auto group = weak.lock()) group->close();
  }
  groups_.clear();
  // NCCL shuts down through the group and its store, so it closes before them.
  if (nccl_ != nullptr) nccl_->close();
  connections_->release();
  if (connections_->is_cut() && connections_->has_operations()) {
    // The destructor would wait until the deadline for operations that Gloo never ends.
    if (segment_ != nullptr) segment_->leave();
    std::thread([group = std::move(group_)]() mutable { group.reset(); }).detach();
  }
  group_.reset();
  shm_.reset();
  segment_.reset();
  if (!failure_) {
    failure_ = Error(Code::kArgument, "the process group was destroyed");
  }
}

}  // namespace rtrain::engine

// Called by a thread of the host, which finds the function by its symbol name.
extern "C" __attribute__((visibility("default"))) void rtrain_engine_cut_groups() {
  rtrain::engine::cut_gloo_connections();
  rtrain::engine::cut_nccl_groups();
}

// The same. Adds the connections over which this process exchanges tensors with other nodes.
extern "C" __attribute__((visibility("default"))) void rtrain_engine_read_links(
    std::vector<rtrain::api::LinkReading>& out) {
  rtrain::engine::read_gloo_connections(out);
}
