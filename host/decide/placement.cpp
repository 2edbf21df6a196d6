#include "host/decide/placement.h"

#include <algorithm>
#include <array>
#include <utility>

#include "host/base/text/counted.h"
#include "host/base/text/text.h"

namespace rtrain::decide {
namespace {

using Rooms = std::vector<NodeCapacity>;

bool has_less_room(const NodeCapacity& a, const NodeCapacity& b) { return a.workers < b.workers; }

int room_of_all(const Rooms& rooms) {
  int sum = 0;
  for (const NodeCapacity& room : rooms) sum += room.workers;
  return sum;
}

// Gives one worker to each node in turn that has room. When none has any, all get more in turn.
std::vector<int> spread(int num_workers, const Rooms& rooms, std::vector<int> counts) {
  int placed = 0;
  for (const int count : counts) placed += count;
  while (placed < num_workers) {
    const bool is_full = placed >= room_of_all(rooms);
    for (size_t i = 0; i < rooms.size() && placed < num_workers; ++i) {
      if (!is_full && counts[i] >= rooms[i].workers) continue;
      ++counts[i];
      ++placed;
    }
  }
  return counts;
}

std::vector<int> pack(int num_workers, const Rooms& rooms) {
  std::vector<int> counts;
  int left = num_workers;
  for (const NodeCapacity& room : rooms) {
    counts.push_back(std::min(left, room.workers));
    left -= counts.back();
  }
  return spread(num_workers, rooms, std::move(counts));
}

// Puts all workers on the first node that has room for them, else on the one with most room.
std::vector<int> pack_strictly(int num_workers, const Rooms& rooms) {
  auto host = std::find_if(rooms.begin(), rooms.end(), [num_workers](const NodeCapacity& room) {
    return room.workers >= num_workers;
  });
  if (host == rooms.end()) host = std::max_element(rooms.begin(), rooms.end(), has_less_room);
  std::vector<int> counts(rooms.size(), 0);
  counts[static_cast<size_t>(host - rooms.begin())] = num_workers;
  return counts;
}

// Gives one worker to each node, first to those that have room.
std::vector<int> spread_strictly(int num_workers, const Rooms& rooms) {
  std::vector<int> counts(rooms.size(), 0);
  int left = num_workers;
  for (const bool has_room : {true, false}) {
    for (size_t i = 0; i < rooms.size() && left > 0; ++i) {
      if ((rooms[i].workers > 0) != has_room) continue;
      counts[i] = 1;
      --left;
    }
  }
  return counts;
}

std::string text_of(const Rooms& rooms) {
  std::vector<std::string> parts;
  for (const NodeCapacity& room : rooms) parts.push_back(cat(room.host, ": ", room.workers));
  return join(parts, ", ");
}

}  // namespace

int Placement::most(const Rooms& rooms, int limit) const {
  int room = 0;
  switch (strategy_) {
    case PlacementStrategy::kStrictSpread:
      room = static_cast<int>(std::count_if(rooms.begin(), rooms.end(), [this](const auto& each) {
        return may_share_ || each.workers > 0;
      }));
      return std::min(room, limit);
    case PlacementStrategy::kStrictPack:
      room = std::max_element(rooms.begin(), rooms.end(), has_less_room)->workers;
      break;
    case PlacementStrategy::kPack:
    case PlacementStrategy::kSpread:
      room = room_of_all(rooms);
      break;
  }
  return may_share_ ? limit : std::min(room, limit);
}

std::vector<int> Placement::counts(int num_workers, const Rooms& rooms) const {
  switch (strategy_) {
    case PlacementStrategy::kPack:
      return pack(num_workers, rooms);
    case PlacementStrategy::kStrictPack:
      return pack_strictly(num_workers, rooms);
    case PlacementStrategy::kStrictSpread:
      return spread_strictly(num_workers, rooms);
    case PlacementStrategy::kSpread:
      break;
  }
  return spread(num_workers, rooms, std::vector<int>(rooms.size(), 0));
}

std::optional<Error> Placement::impossible(int num_workers, const Rooms& rooms) const {
  if (most(rooms, num_workers) == num_workers) return std::nullopt;
  const std::string workers = counted(num_workers, "worker");
  const std::string strategy =
      cat("placement_strategy = '", kNamesOf<PlacementStrategy>.at(static_cast<size_t>(strategy_)),
          "'");
  if (strategy_ == PlacementStrategy::kStrictSpread) {
    return Error(Code::kEnvironment, cat(strategy, ": ", workers, " need as many nodes; there ",
                                         rooms.size() == 1 ? "is " : "are ", rooms.size()));
  }
  const bool on_one = strategy_ == PlacementStrategy::kStrictPack;
  return Error(Code::kEnvironment, cat(on_one ? cat(strategy, ": ") : "", workers,
                                       " do not fit on ", on_one ? "one node" : "the job's nodes",
                                       "; their cores or devices are for ", text_of(rooms)));
}

}  // namespace rtrain::decide
