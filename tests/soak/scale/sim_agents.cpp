#include "tests/soak/scale/sim_agents.h"

#include <csignal>
#include <memory>
#include <utility>
#include <vector>

#include "host/base/clock.h"
#include "host/base/codec/codec.h"
#include "host/base/text/text.h"
#include "host/loop/messages/routes.h"
#include "host/loop/timer.h"
#include "host/machine/processes/build_id.h"
#include "host/node/health/echo_server.h"
#include "host/node/health/health_messages.h"
#include "host/node/workers/messages.h"
#include "host/wire/rendezvous.h"
#include "host/wire/wire_client.h"
#include "tests/soak/scale/sim_worker.h"

namespace rtrain {
namespace {

constexpr std::chrono::milliseconds kTick{2};
constexpr double kFactsS = 1;

class SimAgent : public wire::LinkDelegate {
 public:
  SimAgent(loop::Loop& loop, const node::JobSpec& job, int node, std::function<void()> on_left)
      : loop_(loop),
        node_(node),
        on_left_(std::move(on_left)),
        rendezvous_(wire::Rendezvous::path_for(job.id), job.id),
        client_(
            loop,
            {.find = [this](std::string& why) { return rendezvous_.find(why); },
             .identity = {.role = "agent", .run_id = job.id},
             .link = cat("node-", node),
             .about = encode(to_value(message::AgentInfo{.node = node, .host = cat("n", node)})),
             .build = std::string(machine::build_id())},
            *this) {}

  void tick() {
    for (const auto& worker : workers_) {
      if (worker) worker->tick();
    }
    if (workers_.empty() || monotonic_s() < facts_due_s_) return;
    facts_due_s_ = monotonic_s() + kFactsS;
    message::NodeFacts facts{.attempt = order_.attempt};
    for (const auto& worker : workers_) {
      facts.ranks.push_back(worker ? worker->facts() : decide::RankFacts());
    }
    send(message::FromNode(std::move(facts)));
  }

  // Kills the workers as SIGKILL would.
  void kill_workers() {
    for (auto& worker : workers_) {
      if (!worker) continue;
      send(message::FromNode(message::Dying{.attempt = order_.attempt, .rank = worker->rank()}));
      end_worker(worker, SIGKILL);
    }
  }

 private:
  using Slot = std::unique_ptr<SimWorker>;

  template <class Message>
  void send(Message message) {
    client_.link().send(encode(to_value(std::move(message))));
  }

  void on_frame(std::string_view payload) override {
    Value message = decode(payload);
    const std::string type = message["type"].as_string();
    if (type == node::NodeOrder::kType) start(from_value<node::NodeOrder>(message));
    if (type == message::ToRank::kType) receive(from_value<message::ToRank>(std::move(message)));
    if (type == message::KillWorkers::kType) {
      for (auto& worker : workers_) end_worker(worker, SIGKILL);
    }
    if (type == message::CheckFolder::kType) {
      const std::string path = message["path"].as_string();
      send(message::FromAgent(message::FolderSeen{.path = path}));
    }
    if (type == message::CheckNode::kType) check(from_value<message::CheckNode>(message));
    if (type == message::CheckLinks::kType) check(from_value<message::CheckLinks>(message));
    if (type == message::AskSpool::kType) send(message::FromAgent(message::SpoolEnd{}));
    if (type == message::Leave::kType) {
      client_.link().finish(std::chrono::seconds(5), [this](uint64_t) { on_left_(); });
    }
  }
  // Serves a node that checks this node's network, as node 0 does.
  void check(const message::CheckNode& host) {
    if (!echo_) echo_ = std::make_unique<node::EchoServer>(loop_, host.address, 0, host.key);
    send(message::FromHealth(message::NodeChecked{.port = echo_->port(), .results = {}}));
  }

  // Reports that all links to other simulated nodes are good.
  void check(const message::CheckLinks& links) {
    message::LinksChecked checked;
    for (const node::LinkPeer& peer : links.peers) {
      checked.results.push_back({.node = peer.node, .seconds = 0.001});
    }
    send(message::FromHealth(std::move(checked)));
  }

  void on_connected() override {}
  void on_disconnected(const std::string&) override {}
  void on_peer_restarted() override {}
  void on_full(bool) override {}
  void on_end(const wire::LinkEnd&) override { on_left_(); }

  void start(node::NodeOrder order) {
    order_ = std::move(order);
    workers_.clear();
    for (int i = 0; i < order_.num_workers; ++i) {
      const int rank = order_.first_rank + i;
      const int pid = 100000 + rank;
      send(message::FromNode(message::Spawned{.attempt = order_.attempt,
                                              .rank = rank,
                                              .now_s = monotonic_s(),
                                              .worker = {.pid = pid, .threads = 1, .gpus = {}}}));
      workers_.push_back(
          std::make_unique<SimWorker>(rank, pid, [this, rank](message::ToController message) {
            send(message::FromNode(
                message::FromRank{.attempt = order_.attempt,
                                  .rank = rank,
                                  .frame = encode(to_value(std::move(message)))}));
          }));
    }
  }

  void receive(message::ToRank to) {
    Slot& worker = workers_.at(static_cast<size_t>(to.rank - order_.first_rank));
    if (to.attempt == order_.attempt && worker && worker->receive(decode(to.frame))) {
      end_worker(worker, 0);
    }
  }

  void end_worker(Slot& worker, int signal) {
    if (!worker) return;
    node::WorkerEnd end;
    end.pid = worker->pid();
    end.status.signal = signal;
    send(message::FromNode(
        message::Gone{.attempt = order_.attempt, .rank = worker->rank(), .end = std::move(end)}));
    worker.reset();
  }

  loop::Loop& loop_;
  int node_;
  std::function<void()> on_left_;
  wire::Rendezvous rendezvous_;
  node::NodeOrder order_;
  std::vector<Slot> workers_;  // null: the worker is gone
  double facts_due_s_ = 0;
  std::unique_ptr<node::EchoServer> echo_;
  wire::WireClient client_;
};

}  // namespace

void run_sim_agents(const node::JobSpec& job, int last_killed_node) {
  loop::Loop loop;
  SimBoard& board = SimBoard::of_this_process();
  int num_left = 0;
  std::vector<std::unique_ptr<SimAgent>> agents;
  for (int node = 1; node < job.num_tasks; ++node) {
    agents.push_back(std::make_unique<SimAgent>(loop, job, node, [&] {
      if (++num_left == job.num_tasks - 1) loop.stop();
    }));
  }
  bool has_killed = false;
  loop::Timer timer(loop, [&] {
    if (board.kill && !std::exchange(has_killed, true)) {
      board.killed_at_ns = now_ns();
      for (int node = 1; node <= last_killed_node; ++node) {
        agents[static_cast<size_t>(node - 1)]->kill_workers();
      }
    }
    for (const auto& agent : agents) agent->tick();
    timer.start(kTick);
  });
  timer.start(kTick);
  loop.run();
}

}  // namespace rtrain
