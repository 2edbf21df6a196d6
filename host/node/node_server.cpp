#include "host/node/node_server.h"

#include <pthread.h>

#include <algorithm>
#include <utility>

#include "host/base/clock.h"
#include "host/base/codec/codec.h"
#include "host/base/text/text.h"
#include "host/machine/machine.h"
#include "host/machine/network.h"
#include "host/machine/processes/build_id.h"

namespace rtrain::node {
namespace {

constexpr std::chrono::seconds kLook{1};
constexpr std::chrono::seconds kLeaveTime{5};
// Above this rate of frames per second, frames are handled in batches, kCrowdWait apart.
constexpr double kCrowd = 4000;
constexpr double kCountS = 0.1;
constexpr std::chrono::milliseconds kCrowdWait{4};

std::unique_ptr<NodeServer>& slot() {
  static std::unique_ptr<NodeServer> nodes;
  return nodes;
}

constexpr const char* kAllAddresses = "0.0.0.0";

// The address that the other nodes use for this one, if it is known. They use the launcher's
// address of node 0, or read the address that this node writes to the rendezvous file.
std::string listening_address(const JobSpec& spec, bool has_rendezvous) {
  const auto own = machine::own_addresses();
  if (std::find(own.begin(), own.end(), spec.master) != own.end()) return spec.master;
  if (!has_rendezvous || own.size() > 1) return kAllAddresses;
  return own.empty() ? "127.0.0.1" : own.front();
}

wire::WireServerOptions server_options(const JobSpec& spec, const wire::Secret& secret,
                                       bool has_rendezvous) {
  return {.address = listening_address(spec, has_rendezvous),
          .port = spec.port,
          .secret = secret,
          .run_ids = {spec.id},
          .guest_role = std::string(kOperatorRole),
          .build = std::string(machine::build_id())};
}

}  // namespace

// The receiver of events about nodes. A task posted to a run's loop checks here whether that run is
// still attached.
struct NodeServer::Audience {
  std::mutex mutex;
  loop::Loop* loop = nullptr;
  NodeServerDelegate* delegate = nullptr;
};

// One agent and its link.
class NodeServer::AgentLink : public wire::LinkDelegate {
 public:
  AgentLink(NodeServer& owner, message::AgentInfo info, const std::string& link)
      : owner_(owner), info_(std::move(info)), link_(owner.loop_, link, {}, *this) {}

  wire::Link& link() { return link_; }
  const message::AgentInfo& info() const { return info_; }
  bool is_here() const { return is_here_; }
  // Whether it has learnt that the job has ended, or is not connected any more.
  bool is_done() const { return !is_here_ || is_dismissed_; }
  void set_here() {
    is_here_ = true;
    if (owner_.leaving_) return dismiss(*owner_.leaving_);
    owner_.tell([info = info_](NodeServerDelegate& d) { d.on_node(info); });
  }
  void lose(const std::string& reason) {
    if (!std::exchange(is_here_, false)) return;
    owner_.tell(
        [node = info_.node, reason](NodeServerDelegate& d) { d.on_node_lost(node, reason); });
    owner_.on_agent_done();
  }
  void dismiss(int code) {
    if (!is_here_ || std::exchange(is_leaving_, true)) return;
    link_.send(encode(to_value(message::Leave{.code = code})));
    link_.finish(kLeaveTime, [this](uint64_t) {
      is_dismissed_ = true;
      owner_.on_agent_done();
    });
  }
  // Declares the node lost after the time-out; before that its agent has ended the workers. If the
  // agent is still alive, it connects again as a new one.
  void look(double timeout_s) {
    if (!is_here_ || link_.silent_s() < timeout_s + kLook.count()) return;
    give_up(
        cat("node ", info_.host, " has not been heard of for ", timeout_s, " s (node_timeout_s)"));
  }
  void give_up(const std::string& reason) {
    lose(reason);
    link_.close();
  }

  void on_frame(std::string_view payload) override try {
    if (!is_here_) return;  // it was given up before
    owner_.tell([node = info_.node, message = std::make_shared<Value>(decode(payload))](
                    NodeServerDelegate& d) { d.on_node_message(node, std::move(*message)); });
  } catch (const Error& e) {
    // Not rethrown, because the agent would connect again and send the same frame.
    give_up(cat("node ", info_.host, " has sent an invalid message: ", e.message()));
  }
  void on_connected() override { owner_.set_address(link_.near().host()); }
  void on_disconnected(const std::string&) override {}
  void on_peer_restarted() override {
    link_.drop_unacknowledged();
    lose(cat("another agent of node ", info_.host, " has taken its place"));
    set_here();
  }
  void on_full(bool) override {}
  void on_end(const wire::LinkEnd& end) override {
    lose(cat("the agent of node ", info_.host, " has ended", end.text.empty() ? "" : ": ",
             end.text));
  }

 private:
  NodeServer& owner_;
  message::AgentInfo info_;
  bool is_here_ = false;
  bool is_leaving_ = false;
  bool is_dismissed_ = false;
  wire::Link link_;
};

NodeServer::NodeServer(const JobSpec& spec)
    : spec_(spec),
      secret_(wire::Secret::none()),
      audience_(std::make_shared<Audience>()),
      turn_end_(std::make_unique<loop::TurnEnd>(loop_, [this] { pass_on(); })) {
  const auto given = wire::take_secret_from_environment();
  secret_ = given ? *given : wire::Secret::generate();
  server_ = std::make_unique<wire::WireServer>(loop_, server_options(spec, secret_, !given), *this);
  if (!given) {
    rendezvous_ = std::make_unique<wire::Rendezvous>(wire::Rendezvous::path_for(spec.id), spec.id);
    rendezvous_->publish(contact(secret_));
  }
  timer_ = std::make_unique<loop::Timer>(loop_, [this] { look(); });
  timer_->start(kLook);
  thread_ = std::thread([this] { loop_.run(); });
  pthread_setname_np(thread_.native_handle(), "rtrain-nodes");
}

wire::WireContact NodeServer::contact(const wire::Secret& secret) const {
  const std::string listens_at = server_->address().host();
  return {.hosts = listens_at == kAllAddresses ? machine::own_addresses()
                                               : std::vector<std::string>{listens_at},
          .port = port(),
          .secret = secret};
}

NodeServer::~NodeServer() {
  run_on_loop([this] {
    operators_.reset();
    agents_.clear();
    timer_.reset();
    turn_end_.reset();
    server_.reset();
    loop_.stop();
  });
  thread_.join();
}

void NodeServer::run_on_loop(std::function<void()> task) {
  std::promise<void> done;
  loop_.post([&] {
    task();
    done.set_value();
  });
  done.get_future().wait();
}

int NodeServer::cores() const { return spec_.cores.value_or(machine::available_cores()); }

std::string NodeServer::address() const {
  const std::lock_guard lock(address_mutex_);
  return address_;
}

wire::WireContact NodeServer::attach(const std::string& run_id, loop::Loop& loop,
                                     NodeServerDelegate& delegate) {
  run_on_loop([&] {
    pass_on();  // drops the events: the last delegate has detached
    {
      const std::lock_guard lock(audience_->mutex);
      audience_->loop = &loop;
      audience_->delegate = &delegate;
    }
    run_id_ = run_id;
    server_->add_run_id(run_id);
    operators_ = std::make_unique<OperatorLinks>(
        loop_, [this](Value request, const OperatorLinks::Reply& reply) {
          tell([request, reply](NodeServerDelegate& d) { d.on_command(request, reply); });
        });
    for (const auto& [node, agent] : agents_) {
      if (agent->is_here()) agent->set_here();
    }
  });
  return contact(secret_.of({.role = std::string(kOperatorRole), .run_id = run_id}));
}

void NodeServer::detach() {
  {
    const std::lock_guard lock(audience_->mutex);
    audience_->loop = nullptr;
    audience_->delegate = nullptr;
  }
  loop_.post([this] {
    run_id_.clear();
    operators_->finish();
  });
}

void NodeServer::tell(std::function<void(NodeServerDelegate&)> what) {
  told_.push_back(std::move(what));
  turn_end_->ask();
}

// At thousands of frames per second, most of the time would be spent on waking up for each.
void NodeServer::slow_down() {
  num_told_ += told_.size();
  const double now_s = monotonic_s();
  if (now_s - counted_since_s_ >= kCountS) {
    is_crowded_ = static_cast<double>(num_told_) > kCrowd * (now_s - counted_since_s_);
    num_told_ = 0;
    counted_since_s_ = now_s;
  }
  if (is_crowded_) std::this_thread::sleep_for(kCrowdWait);
}

// Passes on all events of one turn of the loop together, for the same reason.
void NodeServer::pass_on() {
  slow_down();
  const std::lock_guard lock(audience_->mutex);
  auto told = std::exchange(told_, {});
  if (audience_->loop == nullptr) return;
  audience_->loop->post([audience = audience_, told = std::move(told)] {
    for (const auto& what : told) {
      if (audience->delegate != nullptr) what(*audience->delegate);
    }
  });
}

// Throws for a message that is too large here, in the caller's thread, and not in the thread that
// all runs share.
void NodeServer::send(int node, const Value& message) {
  std::string bytes = encode(message);
  wire::SendQueue::check_size(bytes);
  loop_.post([this, node, payload = std::move(bytes)] {
    const auto agent = agents_.find(node);
    if (agent != agents_.end() && agent->second->is_here()) agent->second->link().send(payload);
  });
}

void NodeServer::give_up(int node, const std::string& reason) {
  loop_.post([this, node, reason] {
    const auto agent = agents_.find(node);
    if (agent != agents_.end()) agent->second->give_up(reason);
  });
}

void NodeServer::set_node_timeout(double seconds) {
  loop_.post([this, seconds] { spec_.node_timeout_s = seconds; });
}

void NodeServer::leave(int code) {
  std::future<void> all_done;
  run_on_loop([&] {
    all_done = all_done_.emplace().get_future();
    leaving_ = code;
    for (const auto& [node, agent] : agents_) agent->dismiss(code);
    on_agent_done();
  });
  all_done.wait_for(kLeaveTime);
}

// Waits for agents that have not connected yet: they may be on their way, and would otherwise wait
// for long.
void NodeServer::on_agent_done() {
  if (!all_done_) return;
  int done = spec_.tasks_on_node();
  for (const auto& [node, agent] : agents_) done += agent->is_done() ? agent->info().tasks : 0;
  if (done < spec_.num_tasks) return;
  all_done_->set_value();
  all_done_.reset();
}

// Returns why that agent does not belong to this job; "" if it may join.
std::string NodeServer::refusal(const message::AgentInfo& info) const {
  if (info.node < 1 || info.node >= spec_.num_tasks) {
    return cat("node ", info.host, " says it is number ", info.node,
               ": the other nodes of this job are 1 to ", spec_.num_tasks - 1);
  }
  int free = spec_.num_tasks - spec_.tasks_on_node();
  for (const auto& [node, agent] : agents_) free -= node == info.node ? 0 : agent->info().tasks;
  if (info.tasks >= 1 && info.tasks <= free) return "";
  return cat("node ", info.host, " says it has ", info.tasks, " of the ", spec_.num_tasks,
             " processes of this job: the other nodes leave ", free);
}

wire::Admission NodeServer::admit_operator(const wire::WirePeer& peer,
                                           const wire::LinkHello& hello) {
  if (peer.run_id != run_id_) return {.refusal = "the run has ended"};
  return {.link = &operators_->link(hello.link), .refusal = {}};
}

wire::Admission NodeServer::on_hello(const wire::WirePeer& peer, const wire::LinkHello& hello) {
  if (peer.role == kOperatorRole) return admit_operator(peer, hello);
  auto info = from_value<message::AgentInfo>(decode(hello.about));
  info.address = peer.address.host();
  if (std::string text = refusal(info); !text.empty()) return {.refusal = std::move(text)};
  auto& agent = agents_[info.node];
  if (agent && agent->link().name() == hello.link && agent->is_here()) {
    return {.link = &agent->link(), .refusal = {}};
  }
  if (agent && agent->is_here() && agent->link().is_connected()) {
    return {.refusal =
                cat("node ", info.node, " of this job is there already, as ", agent->info().host)};
  }
  if (agent) agent->lose(cat("another agent has come as node ", info.node));
  // An agent that was given up starts again: the new link tells it that it has a new peer.
  agent = std::make_unique<AgentLink>(*this, std::move(info), hello.link);
  agent->set_here();
  return {.link = &agent->link(), .refusal = {}};
}

void NodeServer::on_refused(const std::string& text) {
  tell([text](NodeServerDelegate& d) { d.on_node_refused(text); });
}

void NodeServer::look() {
  timer_->start(kLook);
  for (const auto& [node, agent] : agents_) agent->look(spec_.node_timeout_s);
}

void NodeServer::set_address(const std::string& address) {
  const std::lock_guard lock(address_mutex_);
  address_ = address;
}

NodeServer* node_server() { return slot().get(); }

void set_node_server(std::unique_ptr<NodeServer> nodes) { slot() = std::move(nodes); }

}  // namespace rtrain::node
