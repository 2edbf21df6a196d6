// host/train/group/worker_group.h: the worker processes of one attempt: spawned together, killed
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

#include "host/base/progress_board.h"
#include "host/base/value.h"
#include "host/loop/group_guard.h"
#include "host/loop/loop.h"
#include "host/loop/messages/to_worker.h"
#include "host/loop/process.h"

namespace rtrain {

struct WorkerGroupOptions {
  int num_workers = 1;
  // No process is started: rank 0 is a thread of this one, the others are processes of another
  // launcher. Whoever takes a rank's place calls its take_endpoint().
  bool local = false;
  int functions_fd = -1;
  int progress_fd = -1;  // of a ProgressBoard; -1: one that nobody looks at
  int engine_fd = -1;
  std::vector<std::pair<std::string, std::string>> env;
};

// What one worker gets beyond that.
struct WorkerPlace {
  std::vector<int> lease_fds;               // it holds these as long as it lives
  std::vector<int> cpus;                    // empty: all of them
  std::vector<int> gpus;                    // its devices, as it numbers them
  std::vector<std::string> gpu_uuids = {};  // of each
  std::vector<std::string> gpu_names = {};
};

// How a worker ended.
struct WorkerEnd {
  int pid = 0;
  bool is_child = true;  // else there is no `status`
  ExitStatus status;
  std::string broken;  // why its channel was closed by us ("a message of … bytes …"), else empty
};

class WorkerGroupDelegate {
 public:
  virtual ~WorkerGroupDelegate() = default;
  // Throws Error for a message that makes no sense: that worker is killed then.
  virtual void on_message(int rank, Value message) = 0;
  virtual void on_output(int rank, std::string_view bytes) = 0;
  virtual void on_line(int rank, std::string_view stream, std::string line) = 0;
  // What a line that is not finished shows now (host/loop/line_reader.h).
  virtual void on_progress(int /*rank*/, std::string_view /*text*/) {}
  // Its process has been reaped, its group killed, and all it had sent was given to the calls
  // above. With the last one all that the workers have started is killed.
  virtual void on_gone(int rank, const WorkerEnd& end) = 0;
};

class WorkerGroup {
 public:
  WorkerGroup(Loop& loop, const WorkerGroupOptions& options, WorkerGroupDelegate& delegate);
  // Kills what still runs.
  ~WorkerGroup();

  // Starts the next rank's process. Throws Error(kEnvironment), a SpawnError where the system
  // refused.
  void spawn_next(const WorkerPlace& place = {});
  // In local mode, once for each rank: the worker's end of the channel. Who takes it owns it, and
  // closes it at the end.
  int take_endpoint(int rank);
  void set_pid(int rank, int pid);
  int size() const { return static_cast<int>(workers_.size()); }
  int pid(int rank) const;

  // Gives the delegate all messages that have arrived, without waiting.
  void drain();
  // Nothing when that worker's channel is closed.
  void send(int rank, message::ToWorker message);
  void send_all(message::ToWorker message);
  // While held the workers' output stays in their pipes: who prints more waits.
  void hold_output(bool held);
  // SIGKILL to every worker's process group; what has left that is killed when the last worker has
  // ended. A local worker sees the end of its channel instead,
  // and ends when its train function looks.
  void kill();

 private:
  class Worker;
  void on_worker_exit();

  Loop& loop_;
  WorkerGroupOptions options_;
  std::optional<ProgressBoard> own_board_;
  WorkerGroupDelegate& delegate_;
  std::unique_ptr<Descendants> descendants_;  // null in local mode
  std::unique_ptr<GroupGuard> guard_;
  int running_ = 0;  // processes
  std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace rtrain
