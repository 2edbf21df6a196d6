#include "host/node/health/node_monitor.h"

#include <algorithm>
#include <utility>

#include "host/base/clock.h"
#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/machine/xid.h"
#include "host/node/health/node_checks.h"

namespace rtrain::node {
namespace {

// Links checked at a time: more would slow each other down.
constexpr size_t kLinksAtOnce = 8;
// Long, because a busy disk or driver may be slow. Before the run there is no load, and the limit
// is shorter.
constexpr double kWatchTimeoutS = 10;

}  // namespace

NodeMonitor::NodeMonitor(loop::Loop& loop, const std::vector<WorkerGpu>& gpus, Send send)
    : loop_(loop), send_(std::move(send)), timer_(loop, [this] { look(); }) {
  for (const WorkerGpu& gpu : gpus) all_uuids_.push_back(gpu.uuid);
}

const loop::Routes<message::ToHealth, NodeMonitor> NodeMonitor::kRoutes{
    loop::on<message::CheckNode>([](NodeMonitor& n, const auto& m) { n.check(m); }),
    loop::on<message::CheckLinks>([](NodeMonitor& n, const auto& m) { n.check(m); }),
    loop::on<message::WatchNode>([](NodeMonitor& n, const auto& m) { n.watch(m); }),
};

void NodeMonitor::start(TimedCheck::Work work, double timeout_s, TimedCheck::Done done) {
  const auto place = running_.emplace(running_.end());
  *place = std::make_unique<TimedCheck>(loop_, std::move(work), to_ms(timeout_s),
                                        [this, place, done = std::move(done)](const auto& outcome) {
                                          const auto keep = std::move(*place);
                                          running_.erase(place);
                                          done(outcome);
                                        });
}

// Under load an fsync may wait for writes of other processes.
void NodeMonitor::check_storage(double timeout_s, bool has_load, const Done& done) {
  start([folder = node_.folder] { return storage_problem(folder); }, timeout_s,
        [has_load, done](const CheckOutcome& outcome) {
          done({.check = "storage",
                .seconds = outcome.seconds,
                .problem = outcome.problem,
                .is_conclusive = (outcome.is_over || !has_load) && is_disk_fault(outcome.problem)});
        });
}

void NodeMonitor::check_devices(double timeout_s, const Done& done) {
  start([uuids = uuids_] { return device_problem(uuids); }, timeout_s,
        [done](const CheckOutcome& outcome) {
          done({.check = "devices",
                .seconds = outcome.seconds,
                .problem = outcome.problem,
                .is_conclusive = !outcome.problem.empty()});
        });
}

void NodeMonitor::check(const message::CheckNode& check) {
  stop();
  node_ = check;
  uuids_ = check.uses_devices ? all_uuids_ : std::vector<std::string>();
  checked_ = {};
  server_.reset();
  if (node_.port != 0) {
    try {
      server_ = std::make_unique<EchoServer>(loop_, node_.address, node_.port, node_.key);
      checked_.port = server_->port();
    } catch (const Error& e) {
      checked_.results.push_back({.check = "link", .problem = e.message()});
    }
  }
  const size_t expected =
      checked_.results.size() + (node_.folder.empty() ? 0 : 1) + (uuids_.empty() ? 0 : 1);
  const auto done = [this, expected](CheckResult result) {
    checked_.results.push_back(std::move(result));
    if (checked_.results.size() == expected) send_(to_value(checked_));
  };
  if (checked_.results.size() == expected) return send_(to_value(checked_));
  if (!node_.folder.empty()) check_storage(node_.timeout_s, false, done);
  if (!uuids_.empty()) check_devices(node_.timeout_s, done);
}

void NodeMonitor::check(const message::CheckLinks& check) {
  links_ = check;
  links_checked_ = {};
  next_link_ = 0;
  if (links_.peers.empty()) return send_(to_value(links_checked_));
  for (size_t i = 0; i < kLinksAtOnce; ++i) check_next_link();
}

void NodeMonitor::check_next_link() {
  if (next_link_ == links_.peers.size()) return;
  const LinkPeer& peer = links_.peers[next_link_++];
  const EchoAddress address{peer.address, peer.port, node_.key};
  const auto size = static_cast<size_t>(links_.size_bytes);
  const auto timeout = to_ms(links_.timeout_s);
  start([address, size, timeout] { return exchange_problem(address, size, timeout); },
        links_.timeout_s,
        [this, node = peer.node](const CheckOutcome& outcome) {
          links_checked_.results.push_back(
              {.node = node, .seconds = outcome.seconds, .problem = outcome.problem});
          if (links_checked_.results.size() == links_.peers.size()) {
            return send_(to_value(links_checked_));
          }
          check_next_link();
        });
}

void NodeMonitor::watch(const message::WatchNode& watch) {
  stop();
  interval_s_ = watch.interval_s;
  if (interval_s_ == 0) return;
  for (const LinkPeer& peer : watch.peers) {
    watches_.push_back(std::make_unique<LinkWatch>(
        loop_, EchoAddress{peer.address, peer.port, node_.key},
        [this, node = peer.node](const LinkState& state) {
          if (state.num_slow == 0 && state.silent_s == 0) return;
          send_(to_value(message::LinkSeen{.node = node,
                                           .num_slow = state.num_slow,
                                           .num_answers = state.num_answers,
                                           .silent_s = state.silent_s}));
        }));
  }
  if (!uuids_.empty()) {
    sampler_ = std::make_unique<GpuSampler>(loop_, GpuSampler::Plan{uuids_, 0}, *this);
  }
  timer_.start(to_ms(interval_s_));
}

void NodeMonitor::stop() {
  timer_.stop();
  watches_.clear();
  sampler_.reset();
  problems_.clear();
}

// A check that hangs is not repeated before it has timed out.
void NodeMonitor::look() {
  timer_.start(to_ms(interval_s_));
  if (waiting_ > 0) return;
  const auto done = [this](const CheckResult& result) {
    --waiting_;
    if (timer_.is_active()) on_seen(result);
  };
  waiting_ = (node_.folder.empty() ? 0 : 1) + (uuids_.empty() ? 0 : 1);
  if (!node_.folder.empty()) check_storage(kWatchTimeoutS, true, done);
  if (!uuids_.empty()) check_devices(kWatchTimeoutS, done);
}

// Reports each problem once, and once when it is over.
void NodeMonitor::on_seen(const CheckResult& result) {
  std::string& known = problems_[result.check];
  if (std::exchange(known, result.problem).empty() == result.problem.empty()) return;
  send_(to_value(message::NodeSeen{.result = result}));
}

void NodeMonitor::on_fault(const std::vector<std::string>& uuids, int64_t xid) {
  send_(to_value(message::NodeSeen{
      .result = {.check = "xid",
                 .seconds = 0,
                 .problem = cat("device ", join(uuids, ", "), " reports ", machine::xid_text(xid)),
                 .is_conclusive = machine::is_hardware_xid(xid)}}));
}

}  // namespace rtrain::node
