#include "tests/sim/world.h"

#include <algorithm>
#include <utility>

namespace rtrain::sim {
namespace {

// The most lives that shrinking tries; after that it shows the shortest life found so far.
constexpr int kMostTries = 20'000;

// Runs the world. Returns how it breaks; empty if it does not.
std::string break_of(World& world) {
  try {
    world.live();
    return "";
  } catch (const std::exception& error) {
    return error.what();
  }
}

class Shrinking {
 public:
  Shrinking(const MakeWorld& make, Life best) : make_(make), best_(std::move(best)) {}

  Life run() {
    size_t before;
    do {
      before = best_.draws.size();
      for (size_t size = std::max<size_t>(best_.draws.size() / 2, 1); size > 0; size /= 2)
        leave_out(size);
      lower();
    } while (best_.draws.size() < before && tries_ < kMostTries);
    return best_;
  }

 private:
  void leave_out(size_t size) {
    for (size_t at = 0; at < best_.draws.size() && tries_ < kMostTries;) {
      std::vector<uint32_t> draws = best_.draws;
      const auto from = draws.begin() + static_cast<std::ptrdiff_t>(at);
      draws.erase(from, from + static_cast<std::ptrdiff_t>(std::min(size, draws.size() - at)));
      if (!take(std::move(draws))) at += size;
    }
  }

  void lower() {
    for (size_t at = 0; at < best_.draws.size() && tries_ < kMostTries; ++at) {
      if (best_.draws[at] == 0) continue;
      std::vector<uint32_t> draws = best_.draws;
      draws[at] = 0;
      take(std::move(draws));
    }
  }

  // Keeps the draws if they break the world in the same way with no more events.
  bool take(std::vector<uint32_t> draws) {
    ++tries_;
    Life next = live(make_, Draws(std::move(draws)));
    while (!next.draws.empty() && next.draws.back() == 0) next.draws.pop_back();
    if (next.broken != best_.broken || next.num_events > best_.num_events) return false;
    best_ = std::move(next);
    return true;
  }

  const MakeWorld& make_;
  Life best_;
  int tries_ = 0;
};

}  // namespace

Life live(const MakeWorld& make, Draws draws) {
  Life out;
  const std::unique_ptr<World> world = make(draws);
  out.broken = break_of(*world);
  out.marks = world->marks();
  out.num_events = world->num_events();
  out.draws = draws.taken();
  return out;
}

std::vector<std::string> story_of(const MakeWorld& make, const Life& life) {
  Draws draws(life.draws);
  const std::unique_ptr<World> world = make(draws);
  world->tell_story();
  break_of(*world);
  return world->story();
}

Life shrink(const MakeWorld& make, const Life& broken) { return Shrinking(make, broken).run(); }

}  // namespace rtrain::sim
