// host/engine/distributed/given_collectives.h: the collectives that this rank has given to its
// device, by their sequence there: what the device waits in, and since when.
//
// Any thread. Keeps the latest thousand.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace rtrain {

struct GivenCollective {
  uint64_t sequence = 0;  // in the group
  uint64_t number = 0;    // in the order of this rank's calls; 0 where they are not counted
  double at_s = 0;
  std::string text;  // "all_reduce(float32 [4])"
};

class GivenCollectives {
 public:
  static constexpr size_t kKept = 1024;

  GivenCollectives() : ring_(kKept) {}

  void add(GivenCollective given);
  // Nothing for one that was not given, or longer ago than is kept.
  std::optional<GivenCollective> find(uint64_t sequence) const;
  std::optional<GivenCollective> latest() const;

 private:
  mutable std::mutex mutex_;
  std::vector<GivenCollective> ring_;  // by sequence % kKept
  uint64_t latest_ = 0;
};

}  // namespace rtrain
