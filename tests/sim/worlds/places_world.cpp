#include "tests/sim/worlds/places_world.h"

#include <algorithm>
#include <set>

#include "host/base/text/text.h"

namespace rtrain::sim {
namespace {

constexpr int kMostNodes = 4;
constexpr int kMostRoom = 4;
constexpr int kMostWorkers = 8;
constexpr int kMostSteps = 20;

}  // namespace

decide::ScalingPolicy PlacesWorld::make_scaling(Draws& draws) {
  const int most = 1 + draws.below(kMostWorkers);
  if (draws.chance(0.4)) return decide::ScalingPolicy::fixed(most);
  return decide::ScalingPolicy::elastic(most - draws.below(most), most, 60);
}

PlacesWorld::PlacesWorld(Draws& draws)
    : draws_(draws),
      strategy_(static_cast<decide::PlacementStrategy>(draws.below(4))),
      may_share_(draws.chance(0.3)),
      placement_(strategy_, may_share_),
      scaling_(make_scaling(draws)),
      request_(scaling_.min_workers(), scaling_.max_workers(), 0),
      cores_per_worker_(draws.below(3)) {
  request_ = decide::CoreRequest(scaling_.min_workers(), scaling_.max_workers(), cores_per_worker_);
  rooms_.push_back({"n0", 1 + draws.below(kMostRoom)});
}

void PlacesWorld::live() {
  const int num_steps = 1 + draws_.below(kMostSteps);
  for (int i = 0; i < num_steps; ++i) {
    change_nodes();
    place();
    check_request(draws_.below(4 * kMostWorkers));
    relocate();
  }
}

void PlacesWorld::change_nodes() {
  const auto node = static_cast<size_t>(draws_.below(static_cast<int>(rooms_.size())));
  if (rooms_.size() > 1 && draws_.chance(0.3)) {
    rooms_.erase(rooms_.begin() + static_cast<std::ptrdiff_t>(node));
  } else if (rooms_.size() < kMostNodes && draws_.chance(0.5)) {
    rooms_.push_back({cat("n", rooms_.size()), draws_.below(kMostRoom + 1)});
  } else {
    rooms_[node].workers = draws_.below(kMostRoom + 1);
  }
}

int PlacesWorld::room_of_all() const {
  int sum = 0;
  for (const decide::NodeCapacity& room : rooms_) sum += room.workers;
  return sum;
}

void PlacesWorld::place() {
  tell([&] {
    std::string rooms;
    for (const decide::NodeCapacity& room : rooms_) rooms += cat(room.workers, ", ");
    return cat("placed(PlacementStrategy(", static_cast<int>(strategy_), "), ", int{may_share_},
               ", {", rooms, "});");
  });
  const int most = placement_.most(rooms_, scaling_.max_workers());
  check_most(most);
  check_scaling(most);
  for (int workers = 1; workers <= kMostWorkers; ++workers) {
    const bool fits = workers <= placement_.most(rooms_, workers);
    const auto error = placement_.impossible(workers, rooms_);
    demand(fits != error.has_value(), "what does not fit is not refused, or what fits is");
    demand(!error || error->code() == Code::kEnvironment, "nodes without room are another error");
    if (fits) check_counts(workers, placement_.counts(workers, rooms_));
  }
}

// Computes the expected result of most() in the simplest way.
void PlacesWorld::check_most(int most) const {
  const bool is_spread = strategy_ == decide::PlacementStrategy::kStrictSpread;
  int room = 0;
  for (const decide::NodeCapacity& each : rooms_) {
    if (strategy_ == decide::PlacementStrategy::kStrictPack) room = std::max(room, each.workers);
    if (is_spread) room += each.workers > 0 || may_share_;
  }
  if (strategy_ == decide::PlacementStrategy::kPack ||
      strategy_ == decide::PlacementStrategy::kSpread)
    room = room_of_all();
  const int limit = scaling_.max_workers();
  demand(most == (may_share_ && !is_spread ? limit : std::min(room, limit)),
         "the nodes have room for another number of workers");
}

// Starts a group, or resizes it to the available capacity.
void PlacesWorld::check_scaling(int capacity) {
  const std::optional<int> start = scaling_.start_size(capacity);
  demand(start.has_value() == (capacity >= scaling_.min_workers()),
         "a group begins below its least number, or waits above it");
  demand(!start || (*start <= capacity && *start <= scaling_.max_workers()),
         "a group begins with more workers than there is room for");
  demand(!start || *start == std::min(capacity, scaling_.max_workers()),
         "a group begins with fewer workers than it could");
  if (running_ == 0) {
    running_ = start.value_or(0);
    return;
  }
  const std::optional<int> resized = scaling_.resize(running_, capacity);
  if (!scaling_.is_elastic()) return demand(!resized, "a group of a fixed size is resized");
  demand(!resized || *resized != running_, "a group is resized to its own size");
  demand(!resized || resized == start, "a group is resized to another size than there is room for");
  running_ = resized.value_or(running_);
  demand(!start || running_ == *start, "a group has not the size that there is room for");
  if (resized) mark("resized");
}

void PlacesWorld::check_counts(int num_workers, const std::vector<int>& counts) const {
  demand(counts.size() == rooms_.size(), "a node has no number of workers");
  int sum = 0;
  for (const int count : counts) sum += count;
  demand(sum == num_workers && *std::ranges::min_element(counts) >= 0,
         "not all workers are placed, or too many");
  check_strict(num_workers, counts);
  const bool is_full = num_workers > room_of_all();
  demand(!is_full || may_share_, "workers share cores that were said to be theirs");
  if (strategy_ == decide::PlacementStrategy::kStrictPack || is_full) return;
  for (size_t i = 0; i < counts.size(); ++i) {
    if (strategy_ != decide::PlacementStrategy::kStrictSpread)
      demand(counts[i] <= rooms_[i].workers, "a node has more workers than room, others have less");
    for (size_t k = i + 1; k < counts.size(); ++k) {
      if (strategy_ == decide::PlacementStrategy::kPack)
        demand(counts[k] == 0 || counts[i] == rooms_[i].workers,
               "a node is begun before one is full");
      if (strategy_ != decide::PlacementStrategy::kSpread) continue;
      const bool fits = counts[i] >= counts[k] || counts[i] == rooms_[i].workers;
      demand(fits && (counts[i] <= counts[k] + 1 || counts[k] == rooms_[k].workers),
             "workers are not spread evenly");
    }
  }
}

// Loses some nodes, of which some come back; others have workers already. What is found is compared
// with all other choices.
void PlacesWorld::relocate() {
  std::vector<decide::NodeWorkers> lost;
  std::vector<decide::NodeRoom> rooms;
  for (int node = 1, count = 1 + draws_.below(3); node <= count; ++node) {
    lost.push_back({node, 1 + draws_.below(kMostRoom)});
  }
  for (int node = 1; node <= kMostNodes; ++node) {
    if (draws_.chance(0.6)) rooms.push_back({node, draws_.below(kMostRoom + 1)});
  }
  for (decide::NodeRoom& each : rooms) {
    each.is_used = each.node > static_cast<int>(lost.size()) && draws_.chance(0.5);
  }
  tell([&] {
    std::string out = "relocation({";
    for (const auto& each : lost) out += cat("{", each.node, ", ", each.workers, "}, ");
    out += "}, {";
    for (const auto& each : rooms)
      out += cat("{", each.node, ", ", each.workers, each.is_used ? ", true}, " : "}, ");
    return cat(out, "}, Placement(PlacementStrategy(", static_cast<int>(strategy_), "), ",
               may_share_ ? "true" : "false", "));");
  });
  const auto found = decide::relocation(lost, rooms, placement_);
  if (!placement_.may_add())
    std::erase_if(rooms, [](const decide::NodeRoom& each) { return each.is_used; });
  if (can_relocate(lost, rooms)) {
    demand(found.has_value(), "nodes with room are not found");
    check_relocated(lost, rooms, *found);
    return mark("relocated");
  }
  demand(may_share_ || found.has_value() == can_share(lost, rooms),
         "nodes with room for several are not found, or others");
  if (!found) return;
  demand(are_enough(lost, rooms, *found), "nodes get more workers than they have room for");
  mark("two lost nodes came to one");
}

// Whether each node has enough cores for the lost ones that come to it: the node at i is for the
// lost one at i. Workers of one lost node alone may share cores.
bool PlacesWorld::are_enough(const std::vector<decide::NodeWorkers>& lost,
                             const std::vector<decide::NodeRoom>& rooms,
                             const std::vector<int>& nodes) const {
  return std::ranges::all_of(rooms, [&](const decide::NodeRoom& room) {
    int sum = 0;
    for (size_t i = 0; i < lost.size(); ++i) sum += nodes.at(i) == room.node ? lost[i].workers : 0;
    const bool is_alone = std::ranges::count(nodes, room.node) == 1;
    return sum == 0 || sum <= room.workers || (may_share_ && !room.is_used && is_alone);
  });
}

// Tries all nodes for each lost one.
bool PlacesWorld::can_share(const std::vector<decide::NodeWorkers>& lost,
                            const std::vector<decide::NodeRoom>& rooms) const {
  if (!placement_.may_add() || rooms.empty()) return false;
  size_t num_choices = 1;
  for (size_t i = 0; i < lost.size(); ++i) num_choices *= rooms.size();
  for (size_t choice = 0; choice < num_choices; ++choice) {
    std::vector<int> nodes;
    for (size_t rest = choice; nodes.size() < lost.size(); rest /= rooms.size())
      nodes.push_back(rooms[rest % rooms.size()].node);
    if (are_enough(lost, rooms, nodes)) return true;
  }
  return false;
}

// Tries the nodes in all orders: the one at i is for the lost one at i.
bool PlacesWorld::can_relocate(const std::vector<decide::NodeWorkers>& lost,
                               std::vector<decide::NodeRoom> rooms) const {
  if (rooms.size() < lost.size()) return false;
  std::ranges::sort(rooms, {}, &decide::NodeRoom::node);
  do {
    const auto fits = [this](const auto& from, const auto& to) {
      return (may_share_ && !to.is_used) || to.workers >= from.workers;
    };
    if (std::equal(lost.begin(), lost.end(), rooms.begin(), fits)) return true;
  } while (std::ranges::next_permutation(rooms, {}, &decide::NodeRoom::node).found);
  return false;
}

void PlacesWorld::check_relocated(const std::vector<decide::NodeWorkers>& lost,
                                  const std::vector<decide::NodeRoom>& rooms,
                                  const std::vector<int>& found) const {
  const auto room_of = [&rooms](int node) {
    const auto at = std::ranges::find(rooms, node, &decide::NodeRoom::node);
    return at == rooms.end() ? decide::NodeRoom{node, -1} : *at;
  };
  demand(std::set<int>(found.begin(), found.end()).size() == lost.size(), "a node is chosen twice");
  std::vector<decide::NodeRoom> unused = rooms;
  std::erase_if(unused, [](const decide::NodeRoom& each) { return each.is_used; });
  const bool is_spared = can_relocate(lost, unused);
  for (size_t i = 0; i < lost.size(); ++i) {
    const decide::NodeRoom room = room_of(found.at(i));
    const int least = may_share_ && !room.is_used ? 0 : lost[i].workers;
    demand(room.workers >= least, "a node is chosen without room, or is lost");
    demand(!room.is_used || !is_spared, "a node that has workers gets more, and others have none");
    const bool is_there = std::ranges::find(found, lost[i].node) == found.end();
    const bool is_cheaper = room.is_used && may_share_;
    demand(!is_there || is_cheaper || room_of(lost[i].node).workers != room.workers,
           "workers move to another node though theirs is back");
    for (const decide::NodeRoom& other : rooms) {
      const bool is_other = std::ranges::find(found, other.node) == found.end();
      if (!is_other || other.workers < lost[i].workers) continue;
      if ((other.is_used && is_spared) || (is_cheaper && !other.is_used)) continue;
      demand(room.workers >= lost[i].workers && room.workers <= other.workers,
             "a node is chosen though one with less room would do, or one with room");
    }
  }
}

void PlacesWorld::check_strict(int num_workers, const std::vector<int>& counts) const {
  const int most = *std::ranges::max_element(counts);
  if (strategy_ == decide::PlacementStrategy::kStrictSpread)
    demand(most <= 1, "two workers that are to be on nodes of their own are on one");
  if (strategy_ != decide::PlacementStrategy::kStrictPack) return;
  demand(most == num_workers, "workers that are to be on one node are on several");
  const auto node = static_cast<size_t>(std::ranges::find(counts, most) - counts.begin());
  const auto has_room = [&](const decide::NodeCapacity& room) {
    return room.workers >= num_workers;
  };
  const auto first = std::ranges::find_if(rooms_, has_room) - rooms_.begin();
  demand(std::ranges::none_of(rooms_, has_room) || node == static_cast<size_t>(first),
         "workers are not on the first node that has room for all");
  for (const decide::NodeCapacity& room : rooms_)
    demand(has_room(rooms_[node]) || rooms_[node].workers >= room.workers,
           "workers share the cores of a node that has fewer than another one");
}

void PlacesWorld::check_request(int offered) {
  const int least = scaling_.min_workers();
  const int most = scaling_.max_workers();
  const decide::CoreRequest::Amount amount = request_.amount(offered);
  const bool shares = least == most && cores_per_worker_ == 0;
  const int unit = std::max(1, cores_per_worker_);
  tell([&] {
    return cat("CoreRequest(", least, ", ", most, ", ", cores_per_worker_, ").amount(", offered,
               ");");
  });
  demand(amount.min >= 1 && amount.min <= amount.max, "no amount of cores fits");
  demand(amount.max <= most * unit, "more cores are asked for than the workers need");
  demand(shares || (amount.min == least * unit && amount.max == most * unit),
         "a run that has said what it needs asks for something else");
  demand(!shares || amount.max == std::clamp(offered, 1, most),
         "a run that shares cores waits for some, or leaves some");
  demand(request_.workers(amount.max) == most, "the most cores are not for the most workers");
  demand(request_.workers(amount.min) >= least, "the cores that were asked for are too few");
  for (int workers = least; workers <= most; ++workers)
    demand(least == most || request_.workers(request_.amount_for(workers)) == workers,
           "the cores of a group are for another size");
  demand(request_.workers(10 * amount.max + 1) == most, "a group has more workers than it may");
  demand(request_.impossible(offered).has_value() == (!shares && least * unit > offered),
         "what a node can never have is waited for, or what it can have refused");
  demand(request_.is_crowded(offered) == (shares && most > std::max(1, offered)),
         "workers share cores and nobody says so, or the other way round");
}

}  // namespace rtrain::sim
