#include "host/engine/distributed/arrival.h"

#include <cstddef>

#include "host/base/text/text.h"

namespace rtrain::engine {

std::vector<Arrival> synchronize(c10d::Store& store, const ArrivalPoint& point,
                                 const Arrival& mine) {
  std::vector<std::string> keys;
  for (int rank = 0; rank < point.num_ranks; ++rank) keys.push_back(cat(point.name, "/", rank));
  // The store accepts no empty value.
  store.set(keys[static_cast<size_t>(point.rank)],
            cat(mine.device, "\n", mine.node, "\n", mine.problem));
  store.wait(keys);
  std::vector<Arrival> out;
  for (const std::string& key : keys) {
    const std::vector<std::string> parts = split(store.get_to_str(key), '\n');
    out.push_back({.device = parts.at(0), .node = parts.at(1), .problem = parts.at(2)});
  }
  return out;
}

std::string problem_of(const std::vector<Arrival>& arrivals) {
  for (size_t rank = 0; rank < arrivals.size(); ++rank) {
    if (!arrivals[rank].problem.empty()) return cat("rank ", rank, ": ", arrivals[rank].problem);
  }
  return "";
}

}  // namespace rtrain::engine
