// host/node/workers/worker_group.h: the worker processes of one attempt, started and killed
// together.
//
// Belongs to the control thread. Passes the ranks' messages, output and ends to its delegate;
// decides nothing. Must not be destroyed from inside a call of its delegate.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "host/loop/loop.h"
#include "host/loop/processes/group_guard.h"
#include "host/loop/processes/process.h"
#include "host/machine/processes/open_files.h"
#include "host/node/workers/output_lines.h"
#include "host/node/workers/worker_end.h"
#include "host/node/workers/worker_place.h"
#include "host/node/workers/zygote.h"
#include "host/pages/progress_board.h"

namespace rtrain::node {

struct WorkerGroupOptions {
  int first_rank = 0;
  int num_workers = 1;
  // Starts no process: the workers exist already, rank 0 as a thread of this process. The process
  // of a rank calls take_endpoint().
  bool local = false;
  int functions_fd = -1;
  int progress_fd = -1;  // of a ProgressBoard; -1: one that is not read
  int engine_fd = -1;
  int commits_fd = -1;       // of a CommitBoard; -1: none
  Zygote* zygote = nullptr;  // from which workers are forked; may be null; outlives the group
  std::vector<std::pair<std::string, std::string>> env;
};

class WorkerGroupDelegate {
 public:
  virtual ~WorkerGroupDelegate() = default;
  // Its process exists and has a pid. Called from inside spawn_next() and replace(), or later with
  // a zygote.
  virtual void on_started(int /*rank*/) {}
  // An encoded message. Throws Error for an invalid one: that worker is killed then.
  virtual void on_frame(int rank, std::string frame) = 0;
  virtual void on_output(int rank, OutputStream stream, std::string_view bytes) = 0;
  // Its process was reaped, its group killed, and all its messages were passed to the calls above;
  // or no process could be forked. With the last worker, everything that the workers have started
  // is killed.
  virtual void on_gone(int rank, const WorkerEnd& end) = 0;
};

// The first message to a spare, and the number of its page of progress.
struct SpareStart {
  int number = 0;
  std::string frame;  // encoded
};

class WorkerGroup {
 public:
  WorkerGroup(loop::Loop& loop, const WorkerGroupOptions& options, WorkerGroupDelegate& delegate);
  // Kills workers that are still running.
  ~WorkerGroup();

  // Starts the next rank's process. Throws Error(kEnvironment), a SpawnError if the system
  // refused.
  void spawn_next(const WorkerPlace& place = {});
  // Starts the process of a rank again, whose last one has ended. Throws as above. Not from inside
  // a call of the delegate.
  void replace(int rank, const WorkerPlace& place);
  // Starts a process that takes the place of a lost rank later. Until then nothing that it sends or
  // prints is read. Throws as above. REQUIRES: !has_spare(), and a worker was started before.
  void start_spare(SpareStart start, const WorkerPlace& place);
  // Whether it has been started and has not ended; `is_there`: and its pid is known.
  bool has_spare() const;
  bool is_spare_there() const;
  // As replace(), with the spare as the process. REQUIRES: is_spare_there().
  void replace_by_spare(int rank, const WorkerPlace& place);
  // Kills it, if there is one.
  void drop_spare();
  // In local mode, once for each rank: returns the worker's end of the channel. The caller owns it
  // and closes it at the end.
  int take_endpoint(int rank);
  void set_pid(int rank, int pid);
  int size() const { return static_cast<int>(workers_.size()); }
  int pid(int rank) const;

  // Passes all messages that have arrived to the delegate, without waiting.
  void drain();
  // Sends an encoded message. Does nothing if that worker's channel is closed.
  void send(int rank, std::string_view frame);
  // The worker has sent an invalid message: kills it, and reports the reason with its end.
  void refuse(int rank, const std::string& reason);
  // While held, the workers' output stays in their pipes: a worker that prints more blocks.
  void hold_output(bool held);
  // SIGKILL to every worker's process group; processes that have left it are killed when the last
  // worker has ended. A local worker sees the end of its channel instead, and ends when its train
  // function checks.
  void kill();
  // The same for one worker.
  void kill(int rank);

 private:
  class Worker;
  Worker& worker(int rank) const;
  void on_worker_exit();

  loop::Loop& loop_;
  WorkerGroupOptions options_;
  std::optional<pages::ProgressBoard> own_board_;
  WorkerGroupDelegate& delegate_;
  std::unique_ptr<machine::FileReserve> files_;
  std::unique_ptr<loop::Descendants> descendants_;  // null in local mode
  std::unique_ptr<loop::GroupGuard> guard_;
  int running_ = 0;  // number of processes, including the spare and those being forked
  std::vector<std::unique_ptr<Worker>> workers_;
  std::unique_ptr<Worker> spare_;  // null: there is none; or it has ended
};

}  // namespace rtrain::node
