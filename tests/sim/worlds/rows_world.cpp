#include "tests/sim/worlds/rows_world.h"

#include <algorithm>
#include <string>

#include "host/base/text/text.h"

namespace rtrain::sim {
namespace {

constexpr int kMostRanks = 8;
constexpr int kMostNodes = 5;
constexpr int kMostSteps = 20;

std::string listed(const std::vector<int>& numbers) {
  std::string out;
  for (const int each : numbers) out += cat(each, ", ");
  return out;
}

}  // namespace

// A group from a checkpoint: nobody has rows of an older one.
void RowsWorld::begin(int num_ranks) {
  ranks_.assign(static_cast<size_t>(num_ranks), Rank());
  int node = 0;
  for (int rank = 0; rank < num_ranks; ++rank) {
    if (rank > 0 && node < kMostNodes - 1 && draws_.chance(0.5)) ++node;
    ranks_[static_cast<size_t>(rank)] = {.node = node, .own = {rank, step_}};
  }
  // Before its first commit a group has nothing to go back to.
  keep_again(true, false);
}

void RowsWorld::live() {
  begin(1 + draws_.below(kMostRanks));
  const int num_steps = draws_.below(kMostSteps);
  for (int i = 0; i < num_steps; ++i) {
    step();
    if (draws_.chance(0.3)) lose(draw_lost());
  }
}

void RowsWorld::step() {
  tell([] { return "every rank makes a step"; });
  ++step_;
  for (Rank& rank : ranks_) {
    rank.own.step = step_;
    rank.kept.step = step_;
  }
}

// The run ends with its first node.
std::set<int> RowsWorld::draw_lost() {
  std::set<int> lost;
  for (int node = 1; node < kMostNodes; ++node) {
    if (draws_.chance(0.3)) lost.insert(node);
  }
  return lost;
}

void RowsWorld::lose(const std::set<int>& nodes) {
  tell([&] { return cat("the nodes ", listed({nodes.begin(), nodes.end()}), "are lost"); });
  draws_.chance(0.3) ? leave_out(nodes) : replace(nodes);
  heal();
}

void RowsWorld::leave_out(const std::set<int>& nodes) {
  std::erase_if(ranks_, [&](const Rank& rank) { return nodes.contains(rank.node); });
}

// Their processes begin again, on nodes that are left or have come back.
void RowsWorld::replace(const std::set<int>& nodes) {
  for (const int node : nodes) {
    const int to = draws_.below(kMostNodes);
    for (Rank& rank : ranks_) {
      if (rank.node == node) rank = {.node = to};
    }
  }
}

void RowsWorld::heal() {
  if (ranks_.empty()) return begin(1 + draws_.below(kMostRanks));
  size_ = 0;
  for (const Rank& rank : ranks_) size_ = std::max(size_, rank.place.size);
  const auto holders = decide::row_holders(places());
  if (!holders) {
    demand_lost();
    mark("rows were lost");
    return begin(static_cast<int>(ranks_.size()));
  }
  if (!pass_on(*holders)) return;
  const bool is_resized = size_ != static_cast<int>(ranks_.size());
  keep_again(is_resized, draws_.chance(0.1));
  mark("a loss was healed");
}

// What a rank has of the rows of a rank of the group before.
RowsWorld::Rows RowsWorld::rows_of(int rank) const {
  for (const Rank& each : ranks_) {
    if (each.place.size > 0 && each.own.rank == rank) return each.own;
  }
  return {};
}

// Gives the new ranks their rows. Returns false where another loss comes first.
bool RowsWorld::pass_on(const std::vector<decide::RowHolder>& holders) {
  demand(static_cast<int>(holders.size()) == size_, "not all rows have a holder");
  std::vector<Rows> found;
  for (int rank = 0; rank < size_; ++rank) {
    const decide::RowHolder& holder = holders.at(static_cast<size_t>(rank));
    const Rank& from = ranks_.at(static_cast<size_t>(holder.rank));
    demand(from.place.size > 0, "a new process has rows");
    found.push_back(holder.is_kept ? from.kept : from.own);
    demand(found.back() == Rows{rank, step_}, "the rows are of another rank or of another step");
    demand(!holder.is_kept || rows_of(rank).rank < 0, "a copy is taken though the rank is there");
    if (holder.is_kept) mark("a copy was taken");
  }
  if (draws_.chance(0.1)) {  // nobody has changed anything
    mark("nodes were lost while rows were passed on");
    lose(draw_lost());
    return false;
  }
  const bool is_resized = size_ != static_cast<int>(ranks_.size());
  for (size_t i = 0; i < ranks_.size(); ++i) {
    ranks_[i].own = {static_cast<int>(i), step_};
    if (is_resized) ranks_[i].place.kept = -1;
  }
  if (is_resized && draws_.chance(0.1)) {
    mark("nodes were lost while rows were divided again");
    lose(draw_lost());
    return false;
  }
  return true;
}

// Each rank learns whose rows it keeps, and gets them. `is_cut`: nodes are lost before all have
// them.
void RowsWorld::keep_again(bool is_resized, bool is_cut) {
  const std::vector<int> keepers = decide::row_keepers(nodes());
  tell([&] { return cat("row_keepers({", listed(nodes()), "});"); });
  demand_apart(keepers);
  const bool sends_all = is_resized || !decide::keeps_rows(places(), keepers);
  const std::vector<Rank> before = ranks_;
  demand_needed(keepers, is_resized, sends_all);
  for (size_t i = 0; i < keepers.size(); ++i) {
    Rank& keeper = ranks_.at(static_cast<size_t>(keepers[i]));
    const bool was_new = keeper.place.size == 0;
    // It has divided its rows again, and does not know yet that the others have.
    if (is_cut && is_resized && !was_new && draws_.chance(0.2)) continue;
    const bool has_rows = !was_new && !sends_all;
    const bool gets_rows = has_rows || !is_cut || draws_.chance(0.5);
    keeper.kept = gets_rows ? before[i].own : Rows();
    keeper.place = {.size = static_cast<int>(ranks_.size()),
                    .rank = keepers[i],
                    .kept = gets_rows ? static_cast<int>(i) : -1};
    // A new process that is not ready when another rank is lost is ended.
    if (is_cut && was_new && !gets_rows) keeper = {.node = keeper.node};
  }
  if (!is_cut) return;
  mark("nodes were lost while rows were copied");
  lose(draw_lost());
}

std::vector<decide::RowPlace> RowsWorld::places() const {
  std::vector<decide::RowPlace> out;
  for (const Rank& rank : ranks_) out.push_back(rank.place);
  return out;
}

std::vector<int> RowsWorld::nodes() const {
  std::vector<int> out;
  for (const Rank& rank : ranks_) out.push_back(rank.node);
  return out;
}

// Ranks and those that keep their rows are on different nodes, as far as there are enough.
void RowsWorld::demand_apart(const std::vector<int>& keepers) const {
  const std::vector<int> node_of = nodes();
  const int count = static_cast<int>(node_of.size());
  demand(keepers.size() == node_of.size() &&
             std::set<int>(keepers.begin(), keepers.end()).size() == keepers.size(),
         "a rank keeps the rows of none, or of two");
  int num_together = 0;
  int most = 0;
  for (int rank = 0; rank < count; ++rank) {
    const int keeper = keepers.at(static_cast<size_t>(rank));
    const int node = node_of[static_cast<size_t>(rank)];
    demand(keeper != rank || count == 1, "a rank keeps its own rows");
    num_together += node_of.at(static_cast<size_t>(keeper)) == node;
    most = std::max(most, static_cast<int>(std::ranges::count(node_of, node)));
  }
  demand(count == 1 || num_together == std::max(0, 2 * most - count),
         "rows are kept on the node of their rank, and another one has room");
}

// All rows are sent again where the ranks that are left do not keep what they should.
void RowsWorld::demand_needed(const std::vector<int>& keepers, bool is_resized, bool sends_all) {
  bool are_kept = true;
  for (size_t i = 0; i < keepers.size(); ++i) {
    const Rank& keeper = ranks_.at(static_cast<size_t>(keepers[i]));
    are_kept &= keeper.place.size == 0 || keeper.kept == Rows{static_cast<int>(i), step_};
  }
  if (is_resized) return;
  demand(sends_all || are_kept, "rows are kept no more");
  demand(!sends_all || !are_kept, "all rows are sent though they are kept");
  if (sends_all) mark("others keep the rows");
}

// Somebody's rows are nowhere, or they belong to groups of different sizes.
void RowsWorld::demand_lost() const {
  std::set<int> there;
  bool is_mixed = false;
  for (const Rank& rank : ranks_) {
    if (rank.place.size == 0) continue;
    is_mixed |= rank.place.size != size_;
    there.insert(rank.own.rank);
    if (rank.place.kept >= 0) there.insert(rank.kept.rank);
  }
  demand(is_mixed || static_cast<int>(there.size()) < size_,
         "all rows are there, and none is used");
}

}  // namespace rtrain::sim
