#include "host/train/resources/node_judge.h"

#include <algorithm>
#include <utility>

#include "host/base/clock.h"
#include "host/base/random.h"
#include "host/base/text/text.h"
#include "host/node/health/node_checks.h"
#include "host/store/runs/node_store.h"
#include "host/train/record/run_record.h"

namespace rtrain::train {
namespace {

constexpr int64_t kExchangeBytes = int64_t{1} << 20;
// Nodes watched on each side of a ring: every node is watched by others, and none watches all.
constexpr int kNeighbours = 2;
// Time for the answers, in addition to the time of the checks.
constexpr double kAnswerS = 3;
constexpr double kIntervalS = 5;
constexpr std::chrono::milliseconds kLook{250};

}  // namespace

NodeJudge::NodeJudge(const RunContext& run, const std::vector<node::WorkerGpu>& gpus, int port,
                     NodeJudgeDelegate& delegate)
    : run_(run),
      delegate_(delegate),
      port_(port),
      key_(random_hex(static_cast<int>(node::kEchoKeyBytes))),
      own_(run.loop, gpus, [this](Value message) { receive(0, std::move(message)); }),
      deadline_(run.loop, [this] { finish(); }),
      timer_(run.loop, [this] { look(); }) {}

const loop::Routes<message::FromHealth, NodeJudge, int> NodeJudge::kRoutes{
    loop::on<message::NodeChecked>(
        [](NodeJudge& h, int node, auto m) { h.on_checked(node, std::move(m)); }),
    loop::on<message::LinksChecked>(
        [](NodeJudge& h, int node, const auto& m) { h.on_links(node, m); }),
    loop::on<message::LinkSeen>([](NodeJudge& h, int node, const auto& m) { h.on_link(node, m); }),
    loop::on<message::NodeSeen>([](NodeJudge& h, int node, const auto& m) { h.on_node(node, m); }),
};

void NodeJudge::add(int node, const std::string& name, const std::string& address,
                    const std::string& folder) {
  judged_[node] = {
      .name = name, .address = address, .folder = folder.empty() ? run_.run_path : folder};
}

void NodeJudge::drop(int node) {
  if (judged_.erase(node) == 0) return;
  links_.drop(node);
  for (auto& [other, judged] : judged_) judged.failed_links.erase(node);
  take_answer(node);
  if (!is_checking()) watch();
}

void NodeJudge::stop() {
  timer_.stop();
  for (const auto& [node, judged] : judged_)
    send(node, to_value(message::WatchNode{.interval_s = 0}));
}

void NodeJudge::dismiss(int node) {
  if (judged_.contains(node)) send(node, to_value(message::WatchNode{.interval_s = 0}));
  drop(node);
}

bool NodeJudge::is_checked(int node) const {
  const auto judged = judged_.find(node);
  return judged != judged_.end() && judged->second.is_checked;
}

void NodeJudge::send(int node, Value message) {
  if (node == 0) return own_.receive(std::move(message));
  delegate_.send_health(node, std::move(message));
}

// Answers may arrive before the last node was asked.
void NodeJudge::check(Done done) {
  done_ = std::move(done);
  has_links_ = false;
  const double timeout_s = run_.spec.health_config.preflight_timeout_s;
  deadline_.start(to_ms(2 * timeout_s + kAnswerS));
  std::vector<int> asked;
  for (auto& [node, judged] : judged_) {
    judged.is_new = !judged.is_checked;
    judged.failed_links.clear();
    judged.refuses = false;
    if (judged.is_new) asked.push_back(node);
  }
  waiting_.insert(asked.begin(), asked.end());
  for (const int node : asked) {
    send(node, to_value(message::CheckNode{.address = judged_[node].address,
                                           // Node 0 only sends checks, and its port is the run's.
                                           .port = node == 0 ? 0 : port_,
                                           .key = key_,
                                           .folder = judged_[node].folder,
                                           .uses_devices = run_.spec.gpus_per_worker > 0,
                                           .timeout_s = timeout_s}));
  }
  if (asked.empty()) finish();
}

void NodeJudge::on_checked(int node, message::NodeChecked checked) {
  const auto judged = judged_.find(node);
  if (judged == judged_.end()) return;
  judged->second.port = checked.port;
  judged->second.results = std::move(checked.results);
  take_answer(node);
}

void NodeJudge::take_answer(int node) {
  if (waiting_.erase(node) == 0 || !waiting_.empty() || !is_checking()) return;
  has_links_ ? finish() : check_links();
}

node::LinkPeer NodeJudge::peer(int node) const {
  const JudgedNode& judged = judged_.at(node);
  return {.node = node, .host = judged.name, .address = judged.address, .port = judged.port};
}

// The nodes that this node must check: each pair with a new node is checked once, by its first one.
std::vector<node::LinkPeer> NodeJudge::new_peers(int node) const {
  std::vector<node::LinkPeer> out;
  const JudgedNode& own = judged_.at(node);
  for (const auto& [other, judged] : judged_) {
    if (other <= node || judged.port == 0) continue;
    if (judged.is_new || own.is_new) out.push_back(peer(other));
  }
  return out;
}

void NodeJudge::check_links() {
  has_links_ = true;
  std::map<int, std::vector<node::LinkPeer>> asked;
  for (const auto& [node, judged] : judged_) {
    if (auto peers = new_peers(node); !peers.empty()) asked[node] = std::move(peers);
  }
  for (const auto& [node, peers] : asked) waiting_.insert(node);
  for (const auto& [node, peers] : asked) {
    send(node,
         to_value(message::CheckLinks{.peers = peers,
                                      .size_bytes = kExchangeBytes,
                                      .timeout_s = run_.spec.health_config.preflight_timeout_s}));
  }
  if (asked.empty()) finish();
}

// Records the result for both ends.
void NodeJudge::on_links(int node, const message::LinksChecked& checked) {
  for (const message::LinkResult& each : checked.results) {
    const auto one = judged_.find(node);
    const auto other = judged_.find(each.node);
    if (one == judged_.end() || other == judged_.end()) continue;
    node::CheckResult result{
        .check = "link",
        .peer = other->second.name,
        .seconds = each.seconds,
        .problem = each.problem,
        .is_conclusive = !each.problem.empty() && !node::is_lack(each.problem)};
    one->second.results.push_back(result);
    result.peer = one->second.name;
    other->second.results.push_back(result);
    if (!result.is_conclusive) continue;
    one->second.failed_links[each.node] = other->second.failed_links[node] = each.problem;
    if (node::is_refusal(each.problem)) other->second.refuses = true;
  }
  take_answer(node);
}

// Nodes that have not answered in time are used: problems will show later.
void NodeJudge::finish() {
  if (!is_checking()) return;
  deadline_.stop();
  waiting_.clear();
  judge();
  record();
  for (auto& [node, judged] : judged_) judged.is_checked = true;
  tell_all();
  watch();
  const Done done = std::exchange(done_, nullptr);
  done();
}

void NodeJudge::judge() {
  std::vector<std::pair<int, node::CheckResult>> found;
  for (auto& [node, judged] : judged_) {
    if (!judged.is_new) continue;
    for (const node::CheckResult& result : judged.results) {
      if (result.problem.empty() || result.check == "link") continue;
      if (result.check == "storage") judged.fails_storage = true;
      found.emplace_back(node, result);
    }
  }
  for (const auto& [node, result] : found) {
    const bool is_own = result.check != "storage" || is_storage_fine_elsewhere(node);
    tell(node, result.check, result.problem, result.is_conclusive && is_own);
  }
  blame_links();
}

// A node that refuses connections though it was used before has probably ended, which
// node_timeout_s decides: it may come back.
void NodeJudge::blame_links() {
  decide::FailedLinks failed;
  for (const auto& [node, judged] : judged_) {
    for (const auto& [peer, problem] : judged.failed_links) failed.links.emplace(node, peer);
    if (judged.refuses) failed.refusing.insert(node);
  }
  for (const auto& [node, peer] : decide::at_fault(std::move(failed))) {
    const JudgedNode& judged = judged_.at(node);
    tell(node, "link",
         cat("link to node ", judged_.at(peer).name, ": ", judged.failed_links.at(peer)),
         judged.is_new || !judged.refuses);
  }
}

bool NodeJudge::is_storage_fine_elsewhere(int node) const {
  return std::any_of(judged_.begin(), judged_.end(), [node](const auto& each) {
    return each.first != node && !each.second.fails_storage;
  });
}

void NodeJudge::tell(int node, const std::string& kind, const std::string& text,
                     bool is_conclusive) {
  const JudgedNode& judged = judged_.at(node);
  evidence_.push_back({.node = node,
                       .host = judged.name,
                       .kind = kind,
                       .text = text,
                       .is_conclusive = is_conclusive,
                       .is_preflight = !judged.is_checked});
}

void NodeJudge::tell_all() {
  for (decide::Evidence& each : std::exchange(evidence_, {}))
    delegate_.on_evidence(std::move(each));
}

void NodeJudge::record() const {
  for (const auto& [node, judged] : judged_) {
    List checks;
    for (const node::CheckResult& result : judged.results) {
      checks.push_back(Map{{"check", result.check},
                           {"peer", result.peer.empty() ? Value() : Value(result.peer)},
                           {"seconds", result.seconds},
                           {"problem", result.problem.empty() ? Value() : Value(result.problem)}});
    }
    run_.io.write([row = store::NodeRow{node, judged.name, judged.address, std::move(checks)}](
                      RunRecord& record) { record.set_node(row); });
  }
}

std::vector<node::LinkPeer> NodeJudge::neighbours(int node) const {
  std::vector<int> ring;
  for (const auto& [each, judged] : judged_) ring.push_back(each);
  const auto size = static_cast<int>(ring.size());
  const auto own = static_cast<int>(std::find(ring.begin(), ring.end(), node) - ring.begin());
  std::set<int> chosen;
  for (int step = 1; step <= kNeighbours; ++step) {
    chosen.insert(ring[static_cast<size_t>((own + step) % size)]);
    chosen.insert(ring[static_cast<size_t>((own - step % size + size) % size)]);
  }
  chosen.erase(node);
  std::vector<node::LinkPeer> out;
  for (const int each : chosen) {
    if (judged_.at(each).port != 0) out.push_back(peer(each));
  }
  return out;
}

void NodeJudge::watch() {
  if (!run_.spec.health_config.monitor || judged_.size() < 2) return;
  for (const auto& [node, judged] : judged_) {
    if (!judged.is_checked) continue;
    send(node, to_value(message::WatchNode{.peers = neighbours(node), .interval_s = kIntervalS}));
  }
  timer_.start(kLook);
}

void NodeJudge::on_link(int node, const message::LinkSeen& seen) {
  if (!judged_.contains(node) || !judged_.contains(seen.node)) return;
  const decide::SeenLink link{.peer = seen.node,
                              .num_slow = seen.num_slow,
                              .num_answers = seen.num_answers,
                              .silent_s = seen.silent_s};
  links_.add(node, link, monotonic_s());
}

void NodeJudge::on_node(int node, const message::NodeSeen& seen) {
  const auto judged = judged_.find(node);
  if (judged == judged_.end()) return;
  const node::CheckResult& result = seen.result;
  const bool is_storage = result.check == "storage";
  if (is_storage) judged->second.fails_storage = !result.problem.empty();
  if (result.problem.empty()) return;
  const bool is_conclusive =
      result.is_conclusive && (!is_storage || is_storage_fine_elsewhere(node));
  tell(node, result.check, result.problem, is_conclusive);
  tell_all();
}

void NodeJudge::look() {
  timer_.start(kLook);
  const auto found = links_.decide(monotonic_s());
  if (!found || !judged_.contains(found->node) || !judged_.contains(found->peer)) return;
  tell(found->node, "link",
       cat("the link to node ", judged_.at(found->peer).name, " ", found->text), true);
  tell_all();
}

}  // namespace rtrain::train
