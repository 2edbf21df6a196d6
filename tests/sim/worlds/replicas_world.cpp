#include "tests/sim/worlds/replicas_world.h"

#include <algorithm>
#include <numeric>

#include "host/base/text/text.h"

namespace rtrain::sim {
namespace {

constexpr int kMostRanks = 6;
constexpr int kMostSteps = 30;

uint64_t mixed(uint64_t a, uint64_t b) {
  const uint64_t x = (a ^ (b + 0x9e3779b97f4a7c15 + (a << 6) + (a >> 2))) * 0xbf58476d1ce4e5b9;
  return x ^ (x >> 31);
}

}  // namespace

ReplicasWorld::ReplicasWorld(Draws& draws)
    : draws_(draws),
      every_(1 + draws.below(3)),
      ranks_(static_cast<size_t>(2 + draws.below(kMostRanks - 1)), truth_) {}

std::vector<int> ReplicasWorld::all() const {
  std::vector<int> ranks(ranks_.size());
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

void ReplicasWorld::live() {
  const int num_steps = draws_.below(kMostSteps);
  for (int i = 1; i <= num_steps; ++i) {
    step();
    while (draws_.chance(0.2)) flip();
    if (draws_.chance(0.1)) lose();
    if (i % every_ == 0) compare();
    if (draws_.chance(0.1)) checkpoint_ = truth_ = state(0);
  }
}

// Each rank's state follows from its own and from the gradients of all.
void ReplicasWorld::step() {
  uint64_t gradients = 0;
  for (const uint64_t each : ranks_) gradients += mixed(each, 1);
  for (uint64_t& each : ranks_) each = mixed(each, gradients);
  truth_ = mixed(truth_, ranks_.size() * mixed(truth_, 1));
  tell([] { return "every rank makes a step"; });
  // Later than before the first comparison nobody knows the calm run's state.
  if (every_ > 1) truth_ = state(0);
}

void ReplicasWorld::flip() {
  const int rank = draws_.below(static_cast<int>(ranks_.size()));
  state(rank) ^= mixed(++num_flips_, 3);
  tell([&] { return cat("a bit of rank ", rank, " flips"); });
}

decide::ReplicaVote ReplicasWorld::vote(const std::vector<int>& holders) {
  std::vector<uint64_t> hashes;
  for (const int rank : holders) hashes.push_back(state(rank));
  decide::ReplicaVote vote = decide::vote_of_replicas(hashes);
  demand_right_vote(vote, holders);
  for (int& place : vote.differing) place = holders.at(static_cast<size_t>(place));
  if (vote.source >= 0) vote.source = holders.at(static_cast<size_t>(vote.source));
  return vote;
}

void ReplicasWorld::demand_right_vote(const decide::ReplicaVote& vote,
                                      const std::vector<int>& holders) const {
  // One rank alone has nothing to be compared with.
  if (every_ > 1 || holders.size() == 1) return;
  std::vector<int> damaged;
  for (size_t place = 0; place < holders.size(); ++place) {
    if (is_damaged(holders[place])) damaged.push_back(static_cast<int>(place));
  }
  if (2 * damaged.size() < holders.size()) {
    demand(vote.differing == damaged, "others than the damaged ranks are named");
    demand(vote.source >= 0, "a majority is not believed");
    demand(!is_damaged(holders.at(static_cast<size_t>(vote.source))), "a damaged rank is believed");
  } else {
    demand(vote.source < 0, "somebody is believed, and as many are damaged as not");
    demand(vote.differing.size() == holders.size(), "without a majority some are believed");
  }
}

// Some ranks are lost. Those that take their places get the state of a rank that is believed.
void ReplicasWorld::lose() {
  std::vector<int> holders;
  for (const int rank : all()) {
    if (draws_.chance(0.7)) holders.push_back(rank);
  }
  if (holders.empty()) return restart();
  tell([&] { return cat(ranks_.size() - holders.size(), " ranks are lost"); });
  const decide::ReplicaVote found = vote(holders);
  if (found.source < 0) return restart();
  const uint64_t believed = state(found.source);
  std::ranges::fill(ranks_, believed);
  mark("lost ranks were replaced");
  if (holders.size() == 1) truth_ = believed;
  demand(every_ > 1 || believed == truth_, "a heal spreads damage");
}

void ReplicasWorld::compare() {
  tell([] { return "the ranks compare their states"; });
  if (draws_.chance(0.05)) {  // before all have the hashes
    mark("a rank was lost in a comparison");
    return lose();
  }
  const decide::ReplicaVote found = vote(all());
  if (found.differing.empty()) return mark("all agree");
  if (found.source < 0) return restart();
  if (!mend(found)) return;
  mark("a rank was mended");
  for (const int rank : all()) {
    demand(state(rank) == state(0), "ranks differ after they were compared");
    demand(every_ > 1 || !is_damaged(rank), "damage is left");
  }
}

bool ReplicasWorld::mend(const decide::ReplicaVote& found) {
  for (const int rank : found.differing) {
    const bool is_cut = draws_.chance(0.05);
    if (is_cut && draws_.chance(0.5)) {
      // Some of its tensors are those of the other rank: it holds no commit.
      tell([&] { return cat("a rank is lost while rank ", rank, " is mended"); });
      state(rank) = mixed(state(rank), state(found.source));
      mark("a rank was lost in a repair");
      restart();
      return false;
    }
    if (is_cut) {
      mark("a rank was lost between two repairs");
      lose();
      return false;
    }
    state(rank) = state(found.source);
  }
  return true;
}

void ReplicasWorld::restart() {
  tell([] { return "the group restarts from its checkpoint"; });
  std::ranges::fill(ranks_, checkpoint_);
  truth_ = checkpoint_;
  mark("no majority");
}

}  // namespace rtrain::sim
