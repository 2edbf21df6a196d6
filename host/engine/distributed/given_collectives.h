// host/engine/distributed/given_collectives.h: the collectives that this rank has submitted to its
// device, by sequence number: which one the device is executing, and when it was submitted.
//
// Any thread. Keeps the latest 1,024.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace rtrain::engine {

struct GivenCollective {
  uint64_t sequence = 0;  // in the group
  uint64_t number = 0;    // in the order of this rank's calls; 0 if they are not counted
  double at_s = 0;
  std::string text;  // "all_reduce(float32 [4])"
};

class GivenCollectives {
 public:
  static constexpr size_t kKept = 1024;

  GivenCollectives() : ring_(kKept) {}

  void add(GivenCollective given);
  // Returns nullopt for a number that was not submitted or is no longer kept.
  std::optional<GivenCollective> find(uint64_t sequence) const;
  std::optional<GivenCollective> latest() const;

 private:
  mutable std::mutex mutex_;
  std::vector<GivenCollective> ring_;  // by sequence % kKept
  uint64_t latest_ = 0;
};

}  // namespace rtrain::engine
