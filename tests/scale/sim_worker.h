// tests/scale/sim_worker.h: a rank without Lua and LibTorch: it says to the controller what a
// worker says, as the SimBoard wants it.
//
// Belongs to its loop's thread. Whoever has it carries the messages, and calls tick() often.
#pragma once

#include <functional>
#include <string>

#include "host/decide/rank_facts.h"
#include "host/loop/messages/to_controller.h"
#include "host/loop/messages/to_worker.h"
#include "tests/scale/sim_board.h"

namespace rtrain {

class SimWorker {
 public:
  using Send = std::function<void(message::ToController message)>;

  SimWorker(int rank, int pid, Send send);

  // What the controller says; true: the process ends.
  bool receive(Value message);
  void tick();
  RankFacts facts() const;
  int rank() const { return rank_; }
  int pid() const { return pid_; }

 private:
  void begin(WorkerContext context);
  void report();

  int rank_;
  int pid_;
  Send send_;
  SimBoard& board_;
  WorkerContext context_;
  bool has_begun_ = false;
  bool has_returned_ = false;
  double report_due_s_ = 0;
  int64_t num_reports_ = 0;
  int64_t num_barriers_ = 0;  // that it has called
  bool is_waiting_ = false;   // in the last of them
  uint64_t progress_ = 0;
};

// The process of a rank: `--worker RANK PID`. Returns its exit code.
int run_sim_worker(int rank, int parent_pid);

}  // namespace rtrain
