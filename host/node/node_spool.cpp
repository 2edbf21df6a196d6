#include "host/node/node_spool.h"

#include <cstdio>
#include <utility>

namespace rtrain::node {
namespace {

constexpr std::chrono::seconds kBetweenSyncs{1};

}  // namespace

NodeSpool::NodeSpool(loop::Loop& loop) : timer_(loop, [this] { sync(); }) {}

void NodeSpool::set_run(const std::string& run_id) {
  folder_ = store::spool_folder(run_id);
  timer_.start(kBetweenSyncs);
}

void NodeSpool::forget(int below_attempt) {
  if (!folder_.empty()) store::remove_spools(folder_, below_attempt);
}

// Starts no second sync before a slow disk has finished the first.
void NodeSpool::sync() {
  timer_.start(kBetweenSyncs);
  if (is_syncing_.exchange(true)) return;
  thread_.post([this, folder = folder_] {
    const std::string problem = store::sync_spools(folder);
    if (!problem.empty() && problem != problem_) {
      std::fprintf(stderr, "rtrain: reports are not safe from a crash of this node: %s\n",
                   problem.c_str());
    }
    problem_ = problem;
    is_syncing_ = false;
  });
}

}  // namespace rtrain::node
