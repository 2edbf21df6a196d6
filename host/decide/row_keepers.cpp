#include "host/decide/row_keepers.h"

#include <algorithm>
#include <numeric>

namespace rtrain::decide {
namespace {

size_t most_on_one(const std::vector<int>& nodes) {
  std::ptrdiff_t most = 0;
  for (const int node : nodes) most = std::max(most, std::ranges::count(nodes, node));
  return static_cast<size_t>(most);
}

bool is_new(const RowPlace& place) { return place.size == 0; }

int size_before(const std::vector<RowPlace>& places) {
  int size = 0;
  for (const RowPlace& place : places) size = std::max(size, place.size);
  return size;
}

}  // namespace

// By nodes in order, the rank that follows at the distance of the most ranks of a node is on
// another node, and so is the one before at that distance.
std::vector<int> row_keepers(const std::vector<int>& nodes) {
  const size_t count = nodes.size();
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, {}, [&](size_t rank) { return nodes[rank]; });
  const size_t most = most_on_one(nodes);
  const size_t distance = most < count ? most : 1;
  std::vector<int> keepers(count);
  for (size_t i = 0; i < count; ++i) {
    keepers[order[i]] = static_cast<int>(order[(i + distance) % count]);
  }
  return keepers;
}

std::optional<std::vector<RowHolder>> row_holders(const std::vector<RowPlace>& places) {
  const int size = size_before(places);
  std::vector<RowHolder> holders(static_cast<size_t>(size));
  for (size_t i = 0; i < places.size(); ++i) {
    if (is_new(places[i])) continue;
    if (places[i].size != size) return std::nullopt;
    holders.at(static_cast<size_t>(places[i].rank)) = {.rank = static_cast<int>(i)};
  }
  for (size_t i = 0; i < places.size(); ++i) {
    if (places[i].kept < 0) continue;
    RowHolder& holder = holders.at(static_cast<size_t>(places[i].kept));
    if (holder.rank < 0) holder = {.rank = static_cast<int>(i), .is_kept = true};
  }
  if (std::ranges::find(holders, -1, &RowHolder::rank) != holders.end()) return std::nullopt;
  return holders;
}

bool keeps_rows(const std::vector<RowPlace>& places, const std::vector<int>& keepers) {
  for (size_t rank = 0; rank < keepers.size(); ++rank) {
    const RowPlace& keeper = places.at(static_cast<size_t>(keepers[rank]));
    if (!is_new(keeper) && keeper.kept != static_cast<int>(rank)) return false;
  }
  return true;
}

}  // namespace rtrain::decide
