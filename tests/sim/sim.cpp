// tests/sim/sim.cpp: looks for a world that breaks; README.md next to it.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#include "host/base/text/text.h"
#include "tests/sim/link_world.h"
#include "tests/sim/reports_world.h"
#include "tests/sim/run_world.h"
#include "tests/sim/stop_world.h"
#include "tests/sim/world.h"

namespace rtrain::sim {
namespace {

struct Options {
  uint64_t seed = 1;
  size_t events = 1'000'000;
  double hours = 0;  // 0: until that many events
};

// What is looked at, and how the marks of all its lives add up.
struct Subject {
  const char* name;
  MakeWorld make;
  std::map<std::string, size_t> marks = {};
  size_t num_lives = 0;
  size_t num_events = 0;
};

std::vector<Subject> subjects() {
  return {{"run", [](Draws& draws) { return std::make_unique<RunWorld>(draws); }},
          {"reports", [](Draws& draws) { return std::make_unique<ReportsWorld>(draws); }},
          {"link", [](Draws& draws) { return std::make_unique<LinkWorld>(draws); }},
          {"stop", [](Draws& draws) { return std::make_unique<StopWorld>(draws); }}};
}

void show(const Subject& subject, uint64_t seed, const Life& broken) {
  const Life shortest = shrink(subject.make, broken);
  std::printf("%s, seed %llu: %s\n%zu events, of %zu:\n", subject.name,
              static_cast<unsigned long long>(seed), shortest.broken.c_str(), shortest.num_events,
              broken.num_events);
  for (const std::string& line : story_of(subject.make, shortest))
    std::printf("  %s\n", line.c_str());
}

// False where a life broke.
bool explore(Subject& subject, const Options& options) {
  const auto end = std::chrono::steady_clock::now() +
                   std::chrono::duration<double, std::ratio<3600>>(options.hours);
  const auto goes_on = [&] {
    return options.hours > 0 ? std::chrono::steady_clock::now() < end
                             : subject.num_events < options.events;
  };
  for (uint64_t seed = options.seed; goes_on(); ++seed) {
    const Life life = live(subject.make, Draws(seed));
    ++subject.num_lives;
    subject.num_events += life.num_events;
    for (const std::string& mark : life.marks) ++subject.marks[mark];
    if (life.broken.empty()) continue;
    show(subject, seed, life);
    return false;
  }
  std::printf("%s: %zu lives, %zu events\n", subject.name, subject.num_lives, subject.num_events);
  for (const auto& [mark, count] : subject.marks) std::printf("  %s: %zu\n", mark.c_str(), count);
  return true;
}

int main(int argc, char** argv) {
  Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    if (name == "--seed") options.seed = std::strtoull(argv[i + 1], nullptr, 10);
    if (name == "--events") options.events = std::strtoull(argv[i + 1], nullptr, 10);
    if (name == "--hours") options.hours = std::strtod(argv[i + 1], nullptr);
  }
  bool holds = true;
  for (Subject& subject : subjects()) holds = explore(subject, options) && holds;
  return holds ? 0 : 1;
}

}  // namespace
}  // namespace rtrain::sim

int main(int argc, char** argv) { return rtrain::sim::main(argc, argv); }
