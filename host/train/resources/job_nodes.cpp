#include "host/train/resources/job_nodes.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "host/base/clock.h"
#include "host/base/random.h"
#include "host/base/seconds_setting.h"
#include "host/base/text/text.h"
#include "host/machine/machine.h"
#include "host/store/files/file.h"

namespace rtrain::train {
namespace {

constexpr size_t kPartBytes = size_t{512} << 10;
constexpr std::chrono::seconds kCheckAgain{1};

decide::Placement placement_of(const RunSpec& spec) {
  if (spec.join) return {decide::PlacementStrategy::kSpread, false};
  const bool is_fixed = spec.min_workers == spec.max_workers;
  const bool says_nothing = spec.cpus_per_worker == 0 && spec.gpus_per_worker == 0;
  return {spec.placement_strategy, is_fixed && says_nothing};
}

std::vector<std::string> names_of(const std::vector<node::WorkerGpu>& gpus) {
  std::vector<std::string> out;
  for (const node::WorkerGpu& gpu : gpus) out.push_back(gpu.name);
  return out;
}

}  // namespace

JobNodes::JobNodes(node::NodeServer& nodes, const RunContext& run,
                   std::vector<node::WorkerGpu> gpus, JobNodesDelegate& delegate)
    : nodes_(nodes),
      run_(run),
      places_(gpus, run.spec.gpus_per_worker, run.spec.accelerator_type),
      placement_(placement_of(run.spec)),
      delegate_(delegate),
      contact_(node::OperatorLinks::contact_path(run.run_path), run.run_id),
      wait_s_(seconds_setting("RTRAIN_JOIN_TIMEOUT_S", run.spec.start_timeout_s)),
      marker_(cat(run.run_path, "/.hosts-", random_hex(8))),
      marker_text_(random_hex(32)),
      objects_(store::ObjectStorage::of(run.spec.storage_path)),
      roster_(nodes, run.spec, names_of(gpus)),
      late_reports_(nodes, run, delegate),
      health_(run, gpus, nodes.port(), *this),
      deadline_(run.loop, [this] { on_deadline(); }),
      check_(run.loop, [this] { has_marker_ ? check_folders() : write_marker(); }) {
  nodes_.set_node_timeout(run.spec.failure_config.node_timeout_s);
  publish_contact();
}

// A failure is ignored: the run works without it.
void JobNodes::publish_contact() {
  const wire::WireContact contact = nodes_.attach(run_.run_id, run_.loop, *this);
  try {
    contact_.publish(contact);
  } catch (const Error& e) {
    delegate_.warn(cat("commands such as `rtrain stop` do not reach this run from other nodes: ",
                       e.message()));
  }
}

JobNodes::~JobNodes() {
  health_.stop();
  nodes_.detach();
  ::unlink(marker_.c_str());
}

void JobNodes::request(std::function<void(int)> on_granted) {
  on_granted_ = std::move(on_granted);
  waiting_since_s_ = monotonic_s();
  if (lost_ranks_) return fail(*lost_ranks_);
  late_reports_.read_own();
  deadline_.start(to_ms(wait_s_));
  write_marker();
  grant_if_ready();
}

void JobNodes::cancel() {
  on_granted_ = nullptr;
  waited_s_ = waited_s();
  waiting_since_s_.reset();
  deadline_.stop();
  check_.stop();
}

double JobNodes::waited_s() const {
  return waited_s_ + (waiting_since_s_ ? monotonic_s() - *waiting_since_s_ : 0);
}

void JobNodes::end_run() { late_reports_.forget(std::numeric_limits<int>::max()); }

// A run of fixed size needs all its nodes; an elastic one continues with those present.
void JobNodes::look(std::function<void(int)> on_seen) { on_seen(workers_now()); }

int JobNodes::workers_now() const {
  const std::vector<decide::NodeCapacity> all = rooms();
  return all.empty() ? 0 : placement_.most(all, run_.spec.max_workers);
}

std::vector<int> JobNodes::ready_nodes() const {
  std::vector<int> out;
  if (is_usable(0)) out.push_back(0);
  for (const auto& [number, node] : roster_.others()) {
    if (node.is_ready && is_usable(number)) out.push_back(number);
  }
  return out;
}

std::vector<decide::NodeCapacity> JobNodes::rooms() const {
  std::vector<decide::NodeCapacity> out;
  for (const int node : ready_nodes()) out.push_back(roster_.room(node));
  return out;
}

bool JobNodes::is_usable(int node) const {
  return !roster_.is_evicted(node) &&
         (!run_.spec.health_config.preflight || health_.is_checked(node));
}

NodeGroup JobNodes::nodes(const node::NodeOrder& order, node::NodeDelegate& delegate) {
  const std::vector<int> numbers = ready_nodes();
  const std::vector<int> counts = placement_.counts(order.num_workers, rooms());
  NodeGroup out;
  remote_.clear();
  ingest_.clear();
  late_reports_.forget(order.attempt);
  node::NodeOrder part = order;
  for (size_t i = 0; i < numbers.size(); ++i) {
    part.num_workers = counts[i];
    const int node = numbers[i];
    if (part.num_workers == 0) continue;
    NodeGroup::Member member = this->node(node, part, delegate);
    member.node_rank = static_cast<int>(out.members().size());
    out.add(std::move(member));
    part.first_rank += part.num_workers;
  }
  return out;
}

NodeGroup::Member JobNodes::node(int number, const node::NodeOrder& order,
                                 node::NodeDelegate& delegate) {
  node::NodeOrder part = order;
  part.address = roster_.address(number);
  NodeGroup::Member member{.node = nullptr,
                           .name = roster_.name(number),
                           .address = part.address,
                           .number = number,
                           .first_rank = part.first_rank,
                           .num_workers = part.num_workers};
  if (number == 0) {
    member.node = std::make_unique<node::LocalNode>(run_.loop, part, run_.files, places_, delegate);
    return member;
  }
  auto remote = std::make_unique<node::RemoteNode>(
      part,
      [this, number](const message::ToNode& message) { nodes_.send(number, to_value(message)); },
      delegate);
  remote_.emplace(number, remote.get());
  member.node = std::move(remote);
  if (const RosterNode* found = roster_.find(number)) member.far_path = found->far_path;
  return member;
}

void JobNodes::find_room(std::vector<decide::NodeWorkers> lost,
                         std::vector<decide::NodeWorkers> used, OnRoom on_room) {
  lost_ = std::move(lost);
  used_ = std::move(used);
  on_room_ = std::move(on_room);
  look_for_room();
}

void JobNodes::look_for_room() {
  if (!on_room_) return;
  std::vector<decide::NodeRoom> rooms;
  for (const int node : ready_nodes()) {
    decide::NodeRoom room{node, roster_.room(node).workers};
    for (const decide::NodeWorkers& each : used_) {
      if (each.node != node) continue;
      room.workers -= each.workers;
      room.is_used = true;
    }
    rooms.push_back(room);
  }
  auto found = decide::relocation(lost_, rooms, placement_);
  if (found) std::exchange(on_room_, nullptr)(std::move(*found));
}

// Chooses the node that has started the fewest ingest workers.
std::string JobNodes::start_ingest(const message::StartIngest& wanted) {
  std::optional<int> best;
  for (const int node : ready_nodes()) {
    if (node == 0 || remote_.contains(node)) continue;
    if (!best || ingest_[node] < ingest_[*best]) best = node;
  }
  if (!best) return "";
  ++ingest_[*best];
  nodes_.send(*best, to_value(wanted));
  return roster_.name(*best);
}

const loop::Routes<message::FromAgent, JobNodes, int> JobNodes::kRoutes{
    loop::on<message::FolderSeen>(
        [](JobNodes& h, int node, const auto& m) { h.on_folder_seen(node, m); }),
    loop::on<message::AgentSignal>(
        [](JobNodes& h, int, const auto& m) { h.delegate_.on_forwarded_signal(m.number); }),
    loop::on<message::Spooled>(
        [](JobNodes& h, int node, const auto& m) { h.late_reports_.on_report(node, m); }),
    loop::on<message::SpoolEnd>(
        [](JobNodes& h, int node, const auto& m) { h.late_reports_.on_end(node, m.problem); }),
};

void JobNodes::on_node(const message::AgentInfo& info) {
  roster_.add(info);
  health_.drop(info.node);
  const std::string what = run_.spec.join ? cat("with ", info.tasks) : cat("number ", info.node);
  delegate_.notice(cat("node ", info.host, " has joined: ", what, " of ", nodes_.spec().num_tasks));
  nodes_.send(info.node,
              to_value(message::NodeTimeout{.seconds = run_.spec.failure_config.node_timeout_s}));
  late_reports_.ask(info.node, info.host);
  if (run_.spec.join) {
    nodes_.send(info.node, to_value(message::BeginFit{.fit = run_.spec.join->fit}));
  } else {
    send_functions(info.node);
  }
  check_folders();
}

void JobNodes::tell_end(const message::Ended& ended) {
  if (!run_.spec.join) return;
  for (const auto& [number, node] : roster_.others()) {
    nodes_.send(number, to_value(message::EndFit{.ended = ended}));
  }
}

void JobNodes::on_node_message(int node, Value message) try {
  const std::string type = message["type"].as_string();
  if (kRoutes.has(type)) return kRoutes.deliver(*this, node, std::move(message));
  if (NodeJudge::knows(type)) return health_.receive(node, std::move(message));
  std::vector<node::RemoteNode*> groups;
  for (auto [each, end] = remote_.equal_range(node); each != end; ++each) {
    groups.push_back(each->second);
  }
  node::RemoteNode::receive(groups, std::move(message));
} catch (const std::exception& e) {
  nodes_.give_up(node,
                 cat("node ", roster_.name(node), " has sent an invalid message: ", e.what()));
}

void JobNodes::on_node_lost(int node, const std::string& reason) {
  const std::string name = roster_.name(node);
  roster_.drop(node);
  health_.drop(node);
  late_reports_.drop(node);
  delegate_.notice(reason);
  if (run_.spec.join) lost_ranks_ = Error(Code::kWorkerLost, reason);
  if (lost_ranks_ && on_granted_) return fail(*lost_ranks_);
  std::vector<node::RemoteNode*> lost;
  const auto [begin, end] = remote_.equal_range(node);
  for (auto each = begin; each != end; ++each) lost.push_back(each->second);
  remote_.erase(begin, end);
  if (std::ranges::any_of(lost, &node::RemoteNode::is_running)) {
    delegate_.warn(cat("reports that the ranks of node ", name,
                       " have made in the last moments may be missing: its disk has them, but for "
                       "the last second if the node itself went down, and an agent that comes from "
                       "there brings them"));
  }
  for (node::RemoteNode* const remote : lost) remote->lose(reason);
}

void JobNodes::on_command(Value request, node::OperatorLinks::Reply reply) {
  delegate_.on_command(std::move(request), std::move(reply));
}

void JobNodes::on_node_refused(const std::string& text) { delegate_.notice(text); }

void JobNodes::send_functions(int node) {
  struct stat info {};
  fstat(run_.files.functions_fd, &info);
  const off_t size = info.st_size;
  off_t offset = 0;
  off_t count = 0;
  do {
    std::string bytes(kPartBytes, '\0');
    const ssize_t n = pread(run_.files.functions_fd, bytes.data(), bytes.size(), offset);
    bytes.resize(static_cast<size_t>(std::max<ssize_t>(n, 0)));
    count = static_cast<off_t>(bytes.size());
    nodes_.send(node, to_value(message::Functions{
                          .size = size, .offset = offset, .bytes = std::move(bytes)}));
    offset += count;
  } while (count > 0 && offset < size);
}

void JobNodes::write_marker() {
  has_marker_ = false;
  run_.io.call(
      [path = marker_, text = marker_text_, objects = objects_, run = run_.spec.name](RunRecord&) {
        store::replace_text(path, text);
        if (objects) objects->put_marker(run, text);
        return true;
      },
      [this](std::optional<bool>, const std::optional<Error>& error) {
        has_marker_ = !error;
        marker_problem_ = error ? error->message() : "";
        check_folders();
      });
}

// Repeated, because space may become available on a full disk, and a network file system may show a
// new file late. A node that returns during the run is an additional one that the run may use.
void JobNodes::check_folders() {
  if (!has_marker_) {
    if (!marker_problem_.empty()) check_.start(kCheckAgain);
    return;
  }
  bool is_waiting = false;
  for (const auto& [number, node] : roster_.others()) {
    if (node.is_ready) continue;
    is_waiting = true;
    nodes_.send(number, to_value(message::CheckFolder{.path = marker_,
                                                      .text = marker_text_,
                                                      .uri = objects_ ? objects_->uri() : "",
                                                      .may_be_far = nodes_.spec().has_own_disks}));
  }
  if (is_waiting) check_.start(kCheckAgain);
}

void JobNodes::on_folder_seen(int node, const message::FolderSeen& seen) {
  RosterNode* const found = roster_.find(node);
  if (found == nullptr || seen.path != marker_) return;
  found->problem = seen.problem;
  found->far_path = seen.far_path;
  found->is_ready = seen.problem.empty();
  if (!on_granted_) check_health();  // the run continues, and may use the node
  grant_if_ready();
}

// Returns whether a node must still be checked, or a decision about one is due; the grant follows
// then.
bool JobNodes::check_health() {
  if (!run_.spec.health_config.preflight) return false;
  if (health_.is_checking() || undecided_ > 0) return true;
  bool has_new = false;
  const auto add = [&](int node, const std::string& name, const std::string& address,
                       const std::string& folder) {
    if (roster_.is_evicted(node) || health_.is_checked(node)) return;
    health_.add(node, name, address, folder);
    has_new = true;
  };
  add(0, machine::hostname(), nodes_.address(), "");
  for (const auto& [number, node] : roster_.others()) {
    if (node.is_ready) add(number, node.info.host, node.info.address, node.far_path);
  }
  if (!has_new) return false;
  health_.check([this] { grant_if_ready(); });
  return true;
}

void JobNodes::on_evidence(decide::Evidence evidence) {
  ++undecided_;
  delegate_.on_evidence(std::move(evidence), [this] {
    --undecided_;
    grant_if_ready();
  });
}

// If a launcher has started each rank, the run needs all of its processes.
std::string JobNodes::evict(int node, const std::string& reason) {
  if (roster_.is_evicted(node)) return "";
  roster_.evict(node, reason);
  health_.dismiss(node);
  if (!run_.spec.join) return "";
  lost_ranks_ = Error(Code::kWorkerLost,
                      cat("the run cannot go on without ", roster_.why_evicted(node),
                          ": its launcher has started each rank, and has to leave that node out"));
  if (on_granted_) fail(*lost_ranks_);
  return "";
}

void JobNodes::grant_if_ready() {
  look_for_room();
  if (!on_granted_) return;
  if (const std::string text = roster_.misfits(); !text.empty()) {
    cancel();
    return delegate_.on_nodes_failed(Error(Code::kEnvironment, text));
  }
  if ((goes_on() || missing().empty()) && !check_health()) grant();
}

// Once the run has begun it knows its nodes: lost ones may never come back.
bool JobNodes::goes_on() const {
  const bool is_elastic = run_.spec.min_workers < run_.spec.max_workers;
  return has_begun_ && is_elastic && workers_now() >= run_.spec.min_workers;
}

void JobNodes::grant() {
  const auto on_granted = std::move(on_granted_);
  cancel();
  if (ready_nodes().empty()) {
    return delegate_.on_nodes_failed(
        Error(Code::kEnvironment, cat("no node is left for the workers", roster_.evicted_text())));
  }
  if (const auto error = placement_.impossible(run_.spec.min_workers, rooms())) {
    return delegate_.on_nodes_failed(
        Error(error->code(), error->message() + roster_.devices_text(ready_nodes())));
  }
  if (!std::exchange(has_begun_, true) && run_.spec.join) tell_ranks();
  on_granted(workers_now());
}

// For a launcher whose ranks are not consecutive on a node, as with `mpirun --map-by node`.
void JobNodes::tell_ranks() {
  int first_rank = nodes_.spec().tasks_on_node();
  for (const auto& [number, node] : roster_.others()) {
    if (number != first_rank) {
      delegate_.notice(cat("node ", node.info.host, ": the launcher's rank ", number, " is rank ",
                           first_rank, " of the run, whose ranks are dense by node"));
    }
    first_rank += node.info.tasks;
  }
}

// The nodes that are waited for, and why; empty if all are present.
std::string JobNodes::missing() const {
  std::vector<std::string> parts;
  for (const auto& [number, node] : roster_.others()) {
    if (node.is_ready || roster_.is_evicted(number)) continue;
    parts.push_back(cat("node ", node.info.host, " ", why_not_ready(node)));
  }
  if (std::string absent = roster_.absent(); !absent.empty()) parts.push_back(std::move(absent));
  return join(parts, "; ");
}

std::string JobNodes::why_not_ready(const RosterNode& node) const {
  if (!marker_problem_.empty()) {
    return cat("cannot be asked whether it sees ", run_.run_path, ": ", marker_problem_);
  }
  if (node.problem.empty()) return "has not answered";
  if (objects_) return cat("does not reach ", objects_->uri(), ": ", node.problem);
  return cat("does not see ", run_.run_path, " of node ", machine::hostname(), " (", marker_, ": ",
             node.problem, "): --storage has to be a folder that all nodes share");
}

void JobNodes::on_deadline() {
  if (!on_granted_) return;
  const std::string text = missing();
  if (text.empty()) return;  // no text while nodes are being checked
  if (check_health()) return deadline_.start(kCheckAgain);
  if (run_.spec.min_workers < run_.spec.max_workers && workers_now() >= run_.spec.min_workers) {
    delegate_.notice(cat("the run begins without nodes: ", text));
    return grant();
  }
  fail(Error(Code::kEnvironment, cat("after ", wait_s_, " s (RTRAIN_JOIN_TIMEOUT_S): ", text)));
}

void JobNodes::fail(const Error& error) {
  cancel();
  delegate_.on_nodes_failed(error);
}

}  // namespace rtrain::train
