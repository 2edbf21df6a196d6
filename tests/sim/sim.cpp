// tests/sim/sim.cpp: looks for a life that breaks a world; see README.md in this folder.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "host/base/text/text.h"
#include "tests/sim/world.h"
#include "tests/sim/worlds/commits_world.h"
#include "tests/sim/worlds/disk_world.h"
#include "tests/sim/worlds/failures_world.h"
#include "tests/sim/worlds/link_world.h"
#include "tests/sim/worlds/nodes_world.h"
#include "tests/sim/worlds/places_world.h"
#include "tests/sim/worlds/queries_world.h"
#include "tests/sim/worlds/replicas_world.h"
#include "tests/sim/worlds/reports_world.h"
#include "tests/sim/worlds/retention_world.h"
#include "tests/sim/worlds/rows_world.h"
#include "tests/sim/worlds/run_world.h"
#include "tests/sim/worlds/slow_world.h"
#include "tests/sim/worlds/spares_world.h"
#include "tests/sim/worlds/spool_world.h"
#include "tests/sim/worlds/stop_world.h"
#include "tests/sim/worlds/sums_world.h"
#include "tests/sim/worlds/sync_world.h"
#include "tests/sim/worlds/watch_world.h"

namespace rtrain::sim {
namespace {

struct Options {
  uint64_t seed = 1;
  size_t events = 1'000'000;
  double hours = 0;       // for all worlds together; 0: stops after `events` events instead
  std::string world;      // the only world to explore; empty: all worlds
  bool is_brief = false;  // stops at the first break and does not shrink it
};

// A world to explore, with the marks of all its lives added up.
struct Subject {
  const char* name;
  MakeWorld make;
  std::map<std::string, size_t> marks = {};
  size_t num_lives = 0;
  size_t num_events = 0;
};

template <class Made>
Subject subject(const char* name) {
  return {name, [](Draws& draws) { return std::make_unique<Made>(draws); }};
}

std::vector<Subject> subjects() {
  return {subject<RunWorld>("run"),           subject<ReportsWorld>("reports"),
          subject<LinkWorld>("link"),         subject<StopWorld>("stop"),
          subject<SyncWorld>("sync"),         subject<CommitsWorld>("commits"),
          subject<FailuresWorld>("failures"), subject<PlacesWorld>("places"),
          subject<QueriesWorld>("queries"),   subject<RetentionWorld>("retention"),
          subject<NodesWorld>("nodes"),       subject<WatchWorld>("watch"),
          subject<DiskWorld>("disk"),         subject<SpoolWorld>("spool"),
          subject<ReplicasWorld>("replicas"), subject<SlowWorld>("slow"),
          subject<SparesWorld>("spares"),     subject<SumsWorld>("sums"),
          subject<RowsWorld>("rows")};
}

void show(const Subject& subject, uint64_t seed, const Life& broken, bool is_brief) {
  if (is_brief) {
    std::printf("%s, seed %llu: %s\n", subject.name, static_cast<unsigned long long>(seed),
                broken.broken.c_str());
    return;
  }
  const Life shortest = shrink(subject.make, broken);
  std::printf("%s, seed %llu: %s\n%zu events, of %zu:\n", subject.name,
              static_cast<unsigned long long>(seed), shortest.broken.c_str(), shortest.num_events,
              broken.num_events);
  for (const std::string& line : story_of(subject.make, shortest))
    std::printf("  %s\n", line.c_str());
}

// Returns false if a life broke.
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
    show(subject, seed, life, options.is_brief);
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
    if (name == "--world") options.world = argv[i + 1];
    if (name == "--brief") options.is_brief = std::string(argv[i + 1]) == "yes";
  }
  std::vector<Subject> chosen = subjects();
  std::erase_if(chosen, [&](const Subject& subject) {
    return !options.world.empty() && options.world != subject.name;
  });
  if (chosen.empty()) {
    std::fprintf(stderr, "sim: there is no world '%s' (README.md)\n", options.world.c_str());
    return 2;
  }
  options.hours /= static_cast<double>(chosen.size());
  bool holds = true;
  for (Subject& subject : chosen) {
    holds = explore(subject, options) && holds;
    std::fflush(stdout);
    if (!holds && options.is_brief) break;
  }
  return holds ? 0 : 1;
}

}  // namespace
}  // namespace rtrain::sim

int main(int argc, char** argv) { return rtrain::sim::main(argc, argv); }
