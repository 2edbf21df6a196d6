#include "tests/sim/worlds/sums_world.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <numeric>

#include "host/base/text/text.h"

namespace rtrain::sim {
namespace {

constexpr int kMostVirtual = 20;
constexpr int kMostSteps = 20;

bool has_bits_of(float a, float b) {
  return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b);
}

}  // namespace

SumsWorld::SumsWorld(Draws& draws)
    : draws_(draws), num_virtual_(1 + draws.below(kMostVirtual)), shares_(num_virtual_, 1) {
  become(1 + draws_.below(num_virtual_));
}

void SumsWorld::live() {
  const int num_steps = draws_.below(kMostSteps);
  while (step_ < num_steps) {
    if (draws_.chance(0.1)) become(1 + draws_.below(num_virtual_));
    if (draws_.chance(0.2)) balance();
    step();
  }
}

LeafRange SumsWorld::range(int rank) const {
  const std::vector<int> uneven = shares_.uneven();
  return uneven.empty() ? LeafRange::of(num_virtual_, rank, size()) : LeafRange::of(uneven, rank);
}

// A number whose sums have other bits in another order. It depends on the state, as a gradient
// does.
float SumsWorld::gradient(float state, int leaf) const {
  uint64_t x = (std::bit_cast<uint32_t>(state) + 1) * 0x9e3779b97f4a7c15 +
               static_cast<uint64_t>(step_ * kMostVirtual + leaf);
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return static_cast<float>(static_cast<int32_t>(x >> 32)) * 0x1p-30F;
}

// By the definition of the tree, from the root down.
float SumsWorld::sum_alone(float state, int level, int number) const {
  if (level == 0) return gradient(state, number);
  const float left = sum_alone(state, level - 1, 2 * number);
  const int right = 2 * number + 1;
  if (right << (level - 1) >= num_virtual_) return left;
  return left + sum_alone(state, level - 1, right);
}

// Another group takes over the state of the first process.
void SumsWorld::become(int size) {
  tell([&] { return cat("a group of ", size, " processes"); });
  const float state = processes_.empty() ? calm_ : processes_.front().state;
  decide::Shares next(num_virtual_, size);
  next.go_on_from(shares_);
  shares_ = next;
  processes_.assign(static_cast<size_t>(size),
                    Process{.state = state, .tree = SumTree(num_virtual_), .values = {}});
  mark("a group of another size, or with other shares");
}

// The watchdog finds processes slow, and the group goes on with other shares, or fails to.
void SumsWorld::balance() {
  std::vector<double> work_s;
  for (int i = 0; i < size(); ++i) work_s.push_back(0.01 * (1 + draws_.below(10)));
  const std::vector<int> before = shares_.uneven();
  if (!shares_.is_unbalanced(work_s)) return;
  shares_.change();
  demand(!shares_.is_unbalanced(work_s), "other shares are asked for twice");
  demand(shares_.uneven() == before, "shares change before the group does");
  if (draws_.chance(0.3)) {
    shares_.cancel();
    mark("a change of shares was withdrawn");
    return;
  }
  become(size());
  const std::vector<int> uneven = shares_.uneven();
  demand(uneven != before, "the shares have not changed");
  if (uneven.empty()) return;
  demand(uneven.size() == processes_.size(), "shares of another number of processes");
  demand(std::ranges::min(uneven) >= 1, "a process has no virtual rank");
  demand(std::accumulate(uneven.begin(), uneven.end(), 0) == num_virtual_,
         "a virtual rank is computed twice, or not at all");
}

void SumsWorld::step() {
  tell([] { return "a step"; });
  for (Process& process : processes_) {  // a step that was not ended has left something
    process.tree.clear();
    process.values.clear();
    process.num_done = 0;
  }
  if (!compute()) return;
  const float sum = sum_of_all();
  move(sum);
  const float alone = sum_alone(
      calm_, static_cast<int>(std::bit_width(static_cast<uint32_t>(num_virtual_ - 1))), 0);
  calm_ += alone / static_cast<float>(num_virtual_);
  ++step_;
  if (draws_.chance(0.1)) lose(draws_.below(size()));  // behind the last wait of the step
  for (const Process& process : processes_) {
    demand(has_bits_of(process.state, calm_), "a process has other bits than one alone");
  }
}

bool SumsWorld::compute() {
  for (int left = num_virtual_; left > 0; --left) {
    if (draws_.chance(0.01)) {
      lose(draws_.below(size()));
      return false;
    }
    int rank = draws_.below(size());
    while (processes_.at(static_cast<size_t>(rank)).num_done ==
           range(rank).end - range(rank).begin) {
      rank = (rank + 1) % size();
    }
    compute_one(rank);
  }
  return true;
}

void SumsWorld::compute_one(int rank) {
  Process& process = processes_.at(static_cast<size_t>(rank));
  const int leaf = range(rank).begin + process.num_done++;
  tell([&] { return cat("process ", rank, " computes virtual rank ", leaf); });
  process.values.push_back(gradient(process.state, leaf));
  process.tree.push({0, leaf}, [&](size_t to) {
    demand(to + 2 == process.values.size(), "others than the last two values are added");
    process.values[to] += process.values[to + 1];
    process.values.pop_back();
  });
}

// Another process takes the place, with a state of the others; or the group becomes smaller. The
// loss of all ends it.
void SumsWorld::lose(int rank) {
  tell([&] { return cat("process ", rank, " is lost"); });
  if (size() == 1) return;
  const float state = processes_.at(rank == 0 ? 1 : 0).state;
  processes_.at(static_cast<size_t>(rank)) =
      Process{.state = state, .tree = SumTree(num_virtual_), .values = {}};
  mark("a process was lost");
  if (draws_.chance(0.5)) become(size() - 1);
}

float SumsWorld::sum_of_all() {
  std::vector<std::vector<SumNode>> parts;
  std::vector<SumNode> pieces;
  std::vector<float> values;
  for (int rank = 0; rank < size(); ++rank) {
    const Process& process = processes_.at(static_cast<size_t>(rank));
    const auto expected = SumTree::pieces(num_virtual_, range(rank).begin, range(rank).end);
    demand(process.tree.nodes() == expected, "a process has other pieces than the others think");
    parts.push_back(expected);
    pieces.insert(pieces.end(), expected.begin(), expected.end());
    values.insert(values.end(), process.values.begin(), process.values.end());
  }
  for (const auto& [to, from] : SumTree::additions(num_virtual_, pieces))
    values[to] += values[from];
  if (SumTree::is_tree_of_parts(num_virtual_, parts)) {
    demand(has_bits_of(sum_of_parts(), values.front()), "an all-reduce has other bits");
    mark("an all-reduce adds along the tree");
  }
  return values.front();
}

// As an all-reduce over shared memory adds: the processes' values, along a tree of the processes.
float SumsWorld::sum_of_parts() {
  std::vector<SumNode> each;
  std::vector<float> values;
  for (const Process& process : processes_) {
    each.push_back({0, static_cast<int>(each.size())});
    values.push_back(process.values.front());
  }
  for (const auto& [to, from] : SumTree::additions(size(), each)) values[to] += values[from];
  return values.front();
}

void SumsWorld::move(float sum) {
  for (Process& process : processes_) process.state += sum / static_cast<float>(num_virtual_);
}

}  // namespace rtrain::sim
