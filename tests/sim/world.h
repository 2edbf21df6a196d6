// tests/sim/world.h: a simulated world around decisions of host/decide.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/sim/draws.h"

namespace rtrain::sim {

// Thrown when an invariant is violated.
class Broken : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// One life of a simulated world.
class World {
 public:
  virtual ~World() = default;
  virtual void live() = 0;
  // From now on, records in story() what happens, as lines of C++ for a unit test.
  void tell_story() { is_told_ = true; }
  const std::vector<std::string>& story() const { return story_; }
  size_t num_events() const { return num_events_; }
  // The kinds of things that happened, counted over all lives to show which kinds never occur.
  const std::vector<std::string>& marks() const { return marks_; }

 protected:
  static void demand(bool holds, const char* what) {
    if (!holds) throw Broken(what);
  }
  // Counts an event; `line` returns its line for the story.
  template <class Line>
  void tell(Line line) {
    ++num_events_;
    if (is_told_) story_.push_back(line());
  }
  void mark(std::string what) { marks_.push_back(std::move(what)); }

 private:
  bool is_told_ = false;
  std::vector<std::string> story_;
  std::vector<std::string> marks_;
  size_t num_events_ = 0;
};

using MakeWorld = std::function<std::unique_ptr<World>(Draws&)>;

// The result of a life.
struct Life {
  std::string broken;  // empty: nothing broke
  std::vector<std::string> marks;
  std::vector<uint32_t> draws;
  size_t num_events = 0;
};
Life live(const MakeWorld& make, Draws draws);
// Repeats the life and returns its story.
std::vector<std::string> story_of(const MakeWorld& make, const Life& life);

// Returns the shortest life that breaks in the same way, found by omitting draws and replacing them
// by zeros.
Life shrink(const MakeWorld& make, const Life& broken);

}  // namespace rtrain::sim
