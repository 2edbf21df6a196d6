// tests/soak/scale/sim_worker.h: a rank without Lua and LibTorch that sends the messages of a
// worker, as the SimBoard instructs.
//
// Belongs to its loop's thread. The owner carries the messages and calls tick() often.
#pragma once

#include <functional>
#include <string>

#include "host/decide/rank_facts.h"
#include "host/loop/messages/to_controller.h"
#include "host/loop/messages/to_worker.h"
#include "tests/soak/scale/sim_board.h"

namespace rtrain {

class SimWorker {
 public:
  using Send = std::function<void(message::ToController message)>;

  SimWorker(int rank, int pid, Send send);

  // Receives a message of the controller. Returns true if the process must end.
  bool receive(Value message);
  void tick();
  decide::RankFacts facts() const;
  int rank() const { return rank_; }
  int pid() const { return pid_; }

 private:
  void begin(loop::WorkerContext context);
  void report();

  int rank_;
  int pid_;
  Send send_;
  SimBoard& board_;
  loop::WorkerContext context_;
  bool has_begun_ = false;
  bool has_returned_ = false;
  double report_due_s_ = 0;
  int64_t num_reports_ = 0;
  int64_t num_barriers_ = 0;  // the barriers that the rank has entered
  bool is_waiting_ = false;   // waits in the last of them
  uint64_t progress_ = 0;
};

// Runs the process of a rank: `--worker RANK PID`. Returns its exit code.
int run_sim_worker(int rank, int parent_pid);

}  // namespace rtrain
