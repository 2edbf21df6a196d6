// host/node/workers/worker_group.h: the worker processes of one attempt: spawned together, killed
// together.
//
// Belongs to the control thread. Tells its delegate what the ranks say, print, and how they end;
// decides nothing. It must not be destroyed from inside a call of its delegate.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "host/loop/loop.h"
#include "host/loop/processes/group_guard.h"
#include "host/loop/processes/process.h"
#include "host/node/workers/last_moments.h"
#include "host/node/workers/output_lines.h"
#include "host/node/workers/worker_place.h"
#include "host/node/workers/zygote.h"
#include "host/pages/progress_board.h"

namespace rtrain {

struct WorkerGroupOptions {
  int first_rank = 0;
  int num_workers = 1;
  // No process is started: the workers are there already, rank 0 as a thread of this process.
  // Whoever takes a rank's place calls its take_endpoint().
  bool local = false;
  int functions_fd = -1;
  int progress_fd = -1;  // of a ProgressBoard; -1: one that is not read
  int engine_fd = -1;
  int commits_fd = -1;       // of a CommitBoard; -1: none
  Zygote* zygote = nullptr;  // that the processes are forked from, if any; outlives the group
  std::vector<std::pair<std::string, std::string>> env;
};

// How a worker ended.
struct WorkerEnd {
  int pid = 0;
  bool is_child = true;  // else there is no `status`
  ExitStatus status;
  std::string broken;  // why its channel was closed by us ("a message of … bytes …"), else empty
  // The facts of its node about its last moments.
  LastMoments last = {};
  int64_t oom_kills = 0;  // processes that the kernel has killed for want of memory in this cgroup
                          // since the attempt began
  std::string lost = {};  // why its host is taken for gone, else empty
};

class WorkerGroupDelegate {
 public:
  virtual ~WorkerGroupDelegate() = default;
  // Its process is there, from here on it has a pid. From inside spawn_next() and replace(), or
  // later where there is a zygote.
  virtual void on_started(int /*rank*/) {}
  // A message, encoded. Throws Error for one that makes no sense: that worker is killed then.
  virtual void on_frame(int rank, std::string frame) = 0;
  virtual void on_output(int rank, OutputStream stream, std::string_view bytes) = 0;
  // Its process has been reaped, its group killed, and all it had sent was given to the calls
  // above; or none could be forked. With the last one all that the workers have started is killed.
  virtual void on_gone(int rank, const WorkerEnd& end) = 0;
};

class WorkerGroup {
 public:
  WorkerGroup(Loop& loop, const WorkerGroupOptions& options, WorkerGroupDelegate& delegate);
  // Kills workers that still run.
  ~WorkerGroup();

  // Starts the next rank's process. Throws Error(kEnvironment), a SpawnError where the system
  // refused.
  void spawn_next(const WorkerPlace& place = {});
  // Starts a rank's process again, whose last one is gone. As above. Not from inside a call of the
  // delegate.
  void replace(int rank, const WorkerPlace& place);
  // In local mode, once for each rank: the worker's end of the channel. Who takes it owns it, and
  // closes it at the end.
  int take_endpoint(int rank);
  void set_pid(int rank, int pid);
  int size() const { return static_cast<int>(workers_.size()); }
  int pid(int rank) const;

  // Gives the delegate all messages that have arrived, without waiting.
  void drain();
  // A message, encoded. Nothing when that worker's channel is closed.
  void send(int rank, std::string_view frame);
  // The worker has sent a message that makes no sense: it is killed, and its end says so.
  void refuse(int rank, const std::string& reason);
  // While held the workers' output stays in their pipes: who prints more waits.
  void hold_output(bool held);
  // SIGKILL to every worker's process group; what has left that is killed when the last worker has
  // ended. A local worker sees the end of its channel instead,
  // and ends when its train function looks.
  void kill();
  // The same to one of them.
  void kill(int rank);

 private:
  class Worker;
  Worker& worker(int rank) const;
  void on_worker_exit();

  Loop& loop_;
  WorkerGroupOptions options_;
  std::optional<ProgressBoard> own_board_;
  WorkerGroupDelegate& delegate_;
  std::unique_ptr<Descendants> descendants_;  // null in local mode
  std::unique_ptr<GroupGuard> guard_;
  int running_ = 0;  // processes, those that are being forked too
  std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace rtrain
