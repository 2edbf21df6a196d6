// What it costs to know which rank is slow: in a rank's step, and in the process that watches it.
//
//   watching_bench    name<TAB>number: step_ns, the phases and the collectives of a step of DDP
//   with
//                     two buckets; look_us, one look of the watch at a rank
#include <sys/wait.h>
#include <unistd.h>

#include <ctime>
#include <iostream>

#include "host/base/phase_clock.h"
#include "host/node/workers/host_watch.h"
#include "host/node/workers/page_facts.h"
#include "host/pages/progress_board.h"
#include "host/worker/peer_waits.h"

namespace {

using namespace rtrain;

// Processor time: another program's is not counted.
double now_s() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

constexpr int kSteps = 1'000'000;
constexpr int kLooks = 2000;
constexpr int kBuckets = 2;

// As host/worker/progress.cpp does it.
class Rank {
 public:
  Rank(pages::ProgressBoard& board, int rank)
      : board_(board), counts_(board.page(rank).phases), clock_(&counts_) {}

  void step() {
    clock_.leave(clock_.enter(TrainPhase::kData));
    const int backward = clock_.enter(TrainPhase::kBackward);
    for (int bucket = 0; bucket < kBuckets; ++bucket) communicate();
    leave(backward, marked_);
    clock_.leave(clock_.enter(TrainPhase::kOptimizer));
  }

 private:
  void communicate() {
    const int depth = clock_.enter(TrainPhase::kCommunication);
    const uint64_t begun = counts_.since.load(std::memory_order_relaxed);
    const uint64_t ticks = TimeStampCounter::ticks();
    waits_.enter(ticks, board_.enter_collective(++sequence_, ticks));
    leave(depth, begun);
    clock_.mark_collective();
    marked_ = TimeStampCounter::ticks();
  }
  void leave(int depth, uint64_t begun) {
    clock_.leave(depth);
    waits_.add(begun, counts_.since.load(std::memory_order_relaxed));
  }

  pages::ProgressBoard& board_;
  PhaseCounts& counts_;
  PhaseClock clock_;
  worker::PeerWaits waits_;
  uint64_t sequence_ = 0;
  uint64_t marked_ = 0;
};

void make_steps(pages::ProgressBoard& board, int rank) {
  Rank stepping(board, rank);
  for (int i = 0; i < kSteps; ++i) stepping.step();
}

// With another rank that enters the same collectives.
double step_ns() {
  pages::ProgressBoard board(2);
  const pid_t other = fork();
  if (other == 0) {
    make_steps(board, 1);
    _exit(0);
  }
  const double begun_s = now_s();
  make_steps(board, 0);
  const double passed_s = now_s() - begun_s;
  waitpid(other, nullptr, 0);
  return 1e9 * passed_s / kSteps;
}

double look_us() {
  pages::ProgressBoard board(1);
  node::HostWatch watch;
  constexpr double kLookS = 0.25;
  double time_s = 0;
  const double begun_s = now_s();
  for (int i = 0; i < kLooks; ++i, time_s += kLookS) {
    node::read_facts(board.page(0), getpid());
    watch.facts(0, getpid(), time_s);
  }
  return 1e6 * (now_s() - begun_s) / kLooks;
}

}  // namespace

int main() { std::cout << "step_ns\t" << step_ns() << "\nlook_us\t" << look_us() << "\n"; }
