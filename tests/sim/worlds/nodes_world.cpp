#include "tests/sim/worlds/nodes_world.h"

#include <algorithm>
#include <map>

#include "host/base/text/text.h"
#include "host/decide/evidence.h"

namespace rtrain::sim {
namespace {

constexpr int kMostNodes = 5;
constexpr double kBetweenS = 0.5;
constexpr int kMostQuiet = 40;    // looks before trouble begins
constexpr int kMostTrouble = 40;  // twenty seconds: the trouble must be found by then
// The most slow answers, and the longest silence, of a good link in a busy network.
constexpr int kMostSlow = 4;
constexpr double kShortS = 3;

}  // namespace

NodesWorld::NodesWorld(Draws& draws)
    : draws_(draws),
      num_nodes_(2 + draws.below(kMostNodes - 1)),
      is_exact_(draws.chance(0.3)),
      is_stuttering_(draws.chance(0.2)) {}

void NodesWorld::live() {
  check_at_fault();
  check_evidence();
  const int num_quiet = draws_.below(kMostQuiet);
  for (int i = 0; i < num_quiet; ++i) say();
  begin_trouble();
  for (int i = 0; i < kMostTrouble; ++i) say();
  for (const auto& [a, b] : bad_) {
    const bool is_over = evicted_.contains(a) || evicted_.contains(b);
    demand(is_over || !is_alive(a) || !is_alive(b), "a link stays bad, and no node is named");
  }
}

bool NodesWorld::is_bad(int a, int b) const { return bad_.contains({a, b}); }

int NodesWorld::num_bad(int node) const {
  return static_cast<int>(
      std::ranges::count_if(bad_, [&](const Ends& ends) { return ends.first == node; }));
}

// Trouble begins for all links of one node, for one link, or not at all.
void NodesWorld::begin_trouble() {
  bad_since_s_ = now_s_;
  trouble_ = static_cast<Trouble>(draws_.below(3));
  if (draws_.chance(0.3)) dead_.insert(draws_.below(num_nodes_));
  if (trouble_ == Trouble::kNone) return;
  const int node = draws_.below(num_nodes_);
  const int peer = (node + 1 + draws_.below(num_nodes_ - 1)) % num_nodes_;
  const bool is_all = draws_.chance(0.5);
  for (int other = 0; other < num_nodes_; ++other) {
    if (other == node || (!is_all && other != peer)) continue;
    bad_.insert({node, other});
    bad_.insert({other, node});
  }
  mark(is_all ? "a node was bad" : "a link was bad");
}

void NodesWorld::say() {
  now_s_ += kBetweenS;
  for (int node = 0; node < num_nodes_; ++node) {
    for (int peer = 0; peer < num_nodes_; ++peer) {
      const bool is_there = is_alive(node) && !evicted_.contains(node) && !evicted_.contains(peer);
      if (node != peer && is_there) say(node, peer);
    }
  }
  look();
}

void NodesWorld::say(int node, int peer) {
  decide::SeenLink link{.peer = peer, .num_slow = 0, .num_answers = 20};
  if (!is_exact_ && draws_.chance(0.2)) link.num_slow = draws_.below(kMostSlow + 1);
  const bool is_bad = this->is_bad(node, peer);
  if (is_bad && trouble_ == Trouble::kDrops) link.num_slow = 5 + (is_exact_ ? 0 : draws_.below(10));
  const bool is_silent = is_bad && trouble_ == Trouble::kSilent;
  if (is_silent || !is_alive(peer)) {
    link.silent_s = now_s_ - bad_since_s_ + kBetweenS;
  } else if (is_stuttering_) {
    link.silent_s = kBetweenS / 2;  // a new one each time
  } else if (draws_.chance(0.05)) {
    link.silent_s = draws_.below(static_cast<int>(kShortS));
  }
  if (link.silent_s == 0 && link.num_slow == 0 && draws_.chance(0.5)) return;  // nothing to report
  tell([&] {
    return cat("verdict.add(", node, ", {", peer, ", ", link.num_slow, ", 20, ", link.silent_s,
               "}, ", now_s_, ");");
  });
  verdict_.add(node, link, now_s_);
}

void NodesWorld::look() {
  tell([&] { return cat("verdict.decide(", now_s_, ");"); });
  while (const auto finding = verdict_.decide(now_s_)) judge(*finding);
}

void NodesWorld::judge(const decide::LinkFinding& finding) {
  tell([&] { return cat("named: ", finding.node, ", for its link to ", finding.peer); });
  mark("named");
  demand(is_bad(finding.node, finding.peer), "a link is called bad that is good");
  demand(!evicted_.contains(finding.node) && !evicted_.contains(finding.peer),
         "a link is called bad of which a node is gone");
  demand(finding.text.starts_with("drops") == (trouble_ == Trouble::kDrops),
         "a link that drops packets is called silent, or the other way round");
  demand(is_alive(finding.node) || trouble_ == Trouble::kDrops,
         "a node that is lost is judged by what the others say of their links");
  demand(finding.node != 0, "node 0 is named, which the run cannot do without");
  const int more = num_bad(finding.node) - num_bad(finding.peer);
  demand(finding.peer == 0 || more >= 0 || !dead_.empty(),
         "a node is named, and the one at the other end has more bad links");
  if (is_exact_ && dead_.empty() && finding.peer != 0)
    demand(more > 0 || finding.node > finding.peer,
           "of as many bad links not the later node is named");
  demand(now_s_ - bad_since_s_ >= 1, "a node is named before the others can say what they see");
  demand(trouble_ != Trouble::kSilent || now_s_ - bad_since_s_ >= 5,
         "a link that was silent for a moment is called bad");
  evicted_.insert(finding.node);
  verdict_.drop(finding.node);
}

// Checks at_fault() with a random set of failed links.
void NodesWorld::check_at_fault() {
  decide::FailedLinks all;
  std::set<Ends>& failed = all.links;
  for (int a = 0; a < num_nodes_; ++a) {
    for (int b = a + 1; b < num_nodes_; ++b) {
      if (draws_.chance(0.7)) continue;
      failed.insert({a, b});
      failed.insert({b, a});
    }
    if (draws_.chance(0.1)) all.refusing.insert(a);
  }
  tell([&] {
    std::string out = "at_fault({{";
    for (const auto& [a, b] : failed) out += cat("{", a, ", ", b, "}, ");
    out += "}, {";
    for (const int node : all.refusing) out += cat(node, ", ");
    return out + "}});";
  });
  const auto is_refusing = [&](const Ends& ends) { return all.refusing.contains(ends.first); };
  for (const auto& [node, peer] : decide::at_fault(all)) {
    demand(failed.contains({node, peer}), "a node is at fault for a link that has not failed");
    const bool refuses = is_refusing({node, peer});
    demand(refuses || std::ranges::none_of(failed, is_refusing),
           "a node is at fault before one that refuses connections");
    std::map<int, int> counts;
    for (const auto& [one, other] : failed) ++counts[one];
    for (const auto& [other, count] : counts)
      demand(refuses || count < counts[node] || (count == counts[node] && other <= node),
             "another node has more links that have failed, or is a later one");
    std::erase_if(failed, [node = node](const Ends& ends) {
      return ends.first == node || ends.second == node;
    });
  }
  demand(failed.empty(), "a link has failed, and neither node is at fault");
}

void NodesWorld::check_evidence() {
  decide::Evidence evidence{
      .node = draws_.below(num_nodes_), .host = "n1", .kind = "link", .text = "bad"};
  evidence.is_conclusive = draws_.chance(0.5);
  evidence.rank = draws_.below(3) - 1;
  const decide::HealthAction action = evidence.default_action();
  demand((action == decide::HealthAction::kEvict) == evidence.is_conclusive &&
             (action == decide::HealthAction::kNoop) == !evidence.is_conclusive,
         "a node is evicted for what is not conclusive, or kept for what is");
  const Value value = evidence.to_value();
  demand(decide::action_from_name(value["default"].as_string()) == action &&
             decide::action_name(action) == value["default"].as_string(),
         "the default has another name");
  demand(value["rank"].is_nil() == (evidence.rank < 0), "evidence of no rank has one");
  demand(!decide::action_from_name("REBOOT"), "an action that there is not has a name");
}

}  // namespace rtrain::sim
