#include "host/node/host_spool.h"

#include <cstdio>
#include <utility>

namespace rtrain {
namespace {

constexpr std::chrono::seconds kBetweenSyncs{1};

}  // namespace

HostSpool::HostSpool(Loop& loop) : timer_(loop, [this] { sync(); }) {}

void HostSpool::set_run(const std::string& run_id) {
  folder_ = spool_folder(run_id);
  timer_.start(kBetweenSyncs);
}

void HostSpool::forget(int below_attempt) {
  if (!folder_.empty()) remove_spools(folder_, below_attempt);
}

// Starts no second sync before a slow disk has finished the first.
void HostSpool::sync() {
  timer_.start(kBetweenSyncs);
  if (is_syncing_.exchange(true)) return;
  thread_.post([this, folder = folder_] {
    const std::string problem = sync_spools(folder);
    if (!problem.empty() && problem != problem_) {
      std::fprintf(stderr, "rtrain: reports are not safe from a crash of this host: %s\n",
                   problem.c_str());
    }
    problem_ = problem;
    is_syncing_ = false;
  });
}

}  // namespace rtrain
