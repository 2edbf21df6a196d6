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

// Something that must never be is so.
class Broken : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// One life of a world. Throws Broken.
class World {
 public:
  virtual ~World() = default;
  virtual void live() = 0;
  // From here on story() is kept: what happens, as lines of C++ for a unit test.
  void tell_story() { is_told_ = true; }
  const std::vector<std::string>& story() const { return story_; }
  size_t num_events() const { return num_events_; }
  // How the life went: counted over all lives, so that a kind that never comes is seen.
  const std::vector<std::string>& marks() const { return marks_; }

 protected:
  static void demand(bool holds, const char* what) {
    if (!holds) throw Broken(what);
  }
  // Something happens; `line` makes its line of the story.
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

// What a life came to.
struct Life {
  std::string broken;  // empty: nothing
  std::vector<std::string> marks;
  std::vector<uint32_t> draws;
  size_t num_events = 0;
};
Life live(const MakeWorld& make, Draws draws);
// The story of a life that is lived again.
std::vector<std::string> story_of(const MakeWorld& make, const Life& life);

// The shortest life that breaks in the same way and is found from this one by leaving draws out and
// making them smaller.
Life shrink(const MakeWorld& make, const Life& broken);

}  // namespace rtrain::sim
