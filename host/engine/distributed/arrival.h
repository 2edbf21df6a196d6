// host/engine/distributed/arrival.h: what the ranks of a group tell each other through the store
// before they connect.
#pragma once

#include <string>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <vector>

namespace rtrain::engine {

struct Arrival {
  std::string device;   // its UUID; empty without one
  std::string node;     // the rank's
  std::string problem;  // why the rank cannot share memory; empty if it can
};

// A place in the program at which all ranks arrive once.
struct ArrivalPoint {
  const char* name = "";
  int rank = 0;
  int num_ranks = 1;
};

// Returns the arrivals of all ranks once every rank has arrived: a rank that left as soon as it is
// connected would break connections that slower ranks are still making. Throws what the store
// throws, also at its deadline.
std::vector<Arrival> synchronize(c10d::Store& store, const ArrivalPoint& point,
                                 const Arrival& mine);

// The problem of the lowest rank that has one, with its number; else "".
std::string problem_of(const std::vector<Arrival>& arrivals);

}  // namespace rtrain::engine
