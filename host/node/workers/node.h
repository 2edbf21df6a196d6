// host/node/workers/node.h: where workers of an attempt are started and watched: this machine, or
// another one through its agent.
//
// A node carries out and says what it sees; the controller decides. It has the ranks from
// `first_rank` on, and belongs to one attempt, or to several where ranks are replaced or left out.
// A rank keeps its number here, whatever it is in a later attempt (NodeGroup::place).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host/base/codec/record.h"
#include "host/base/error.h"
#include "host/decide/rank_facts.h"
#include "host/node/workers/worker_group.h"
#include "host/store/series/series_store.h"

namespace rtrain {

// The workers that a node is to start; to the agent of another host it is a message.
struct NodeOrder {
  static constexpr std::string_view kType = "start_workers";
  int attempt = 1;
  int first_rank = 0;
  int num_workers = 1;
  int threads = 0;             // of each worker; 0: cores / workers, unless OMP_NUM_THREADS is set
  double gpus_per_worker = 0;  // where a launcher has allotted them
  std::string accelerator_type = {};
  double gpu_sample_s = 0;   // 0: no series of the devices
  double host_sample_s = 0;  // 0: none of processes and host
  StringPairs env = {};      // of the workers
  std::string address =
      {};  // of its host, for sockets of other hosts' ranks; empty: there are none
  // No process is started: the workers are there already (see WorkerEndpoints).
  bool is_local = false;

  static constexpr std::tuple kFields{required("attempt", &NodeOrder::attempt),
                                      required("first_rank", &NodeOrder::first_rank),
                                      required("num_workers", &NodeOrder::num_workers),
                                      required("threads", &NodeOrder::threads),
                                      required("gpus_per_worker", &NodeOrder::gpus_per_worker),
                                      optional("accelerator_type", &NodeOrder::accelerator_type),
                                      required("gpu_sample_s", &NodeOrder::gpu_sample_s),
                                      required("host_sample_s", &NodeOrder::host_sample_s),
                                      required("env", &NodeOrder::env),
                                      required("address", &NodeOrder::address),
                                      optional("is_local", &NodeOrder::is_local)};
};

struct SpawnedWorker {
  int pid = 0;  // 0: not known yet, of a worker that was there already
  int threads = 1;
  std::vector<WorkerGpu> gpus;

  static constexpr std::tuple kFields{required("pid", &SpawnedWorker::pid),
                                      required("threads", &SpawnedWorker::threads),
                                      optional("gpus", &SpawnedWorker::gpus)};
};

// An error that a device of a rank reports.
struct DeviceFault {
  int rank = 0;
  WorkerGpu gpu;
  int64_t xid = 0;

  static constexpr std::tuple kFields{required("rank", &DeviceFault::rank),
                                      required("gpu", &DeviceFault::gpu),
                                      required("xid", &DeviceFault::xid)};
};

class NodeDelegate {
 public:
  virtual ~NodeDelegate() = default;
  virtual void on_spawned(int rank, const SpawnedWorker& worker) = 0;
  // The node starts no further one.
  virtual void on_spawn_failed(int rank, const Error& error, bool is_transient) = 0;
  // A message, encoded. Throws Error for one that makes no sense: that worker is killed then.
  virtual void on_frame(int rank, std::string frame) = 0;
  virtual void on_output(int rank, OutputStream stream, std::string_view bytes) = 0;
  // The rank's main thread has ended without leaving its page: its process is going.
  virtual void on_dying(int rank) = 0;
  // All that the worker had sent was given to the calls above.
  virtual void on_gone(int rank, const WorkerEnd& end) = 0;
  // The activity of the rank's devices.
  virtual void on_series(SeriesChunk chunk) = 0;
  virtual void on_device_fault(const DeviceFault& fault) = 0;
};

class Node {
 public:
  virtual ~Node() = default;
  // Starts its workers, one after the other.
  virtual void spawn() = 0;
  // A message, encoded. Nothing for a rank that was not started, or whose channel is closed.
  virtual void send(int rank, std::string_view frame) = 0;
  // The rank has said hello as that process: from here on its death is seen.
  virtual void set_attached(int rank, int pid) = 0;
  // Gives the delegate all that the workers have said by now, without waiting.
  virtual void drain() = 0;
  // While held the workers' output stays with them: who prints more waits.
  virtual void hold_output(bool held) = 0;
  // SIGKILL to every worker and its descendants.
  virtual void kill() = 0;
  // The attempt is over: nothing more is said of its devices.
  virtual void close() = 0;

  // Whether a process that is gone can be replaced while the others of the node continue.
  virtual bool replaces() const { return false; }
  // The workers that are there continue in another attempt, and the delegate is another one.
  virtual void hand_over(NodeDelegate& /*delegate*/) { RT_CHECK(false); }
  // Starts the rank's process again, whose last one is gone. Not from inside a call of the
  // delegate.
  virtual void replace(int /*rank*/) { RT_CHECK(false); }
  // SIGKILL to one worker and its descendants.
  virtual void kill(int /*rank*/) { RT_CHECK(false); }
  // The others continue without the rank, whose process is gone: no commit waits for it.
  virtual void leave_out(int /*rank*/) { RT_CHECK(false); }
  // As CommitBoard has it, where other nodes have ranks too.
  virtual void set_others_ready(uint64_t /*step*/) {}
  virtual void set_others_lost() {}

  virtual RankFacts facts(int rank) const = 0;
  // Of checkpoints, by its ranks so far.
  virtual uint64_t copied_bytes() const = 0;
  // The offset that turns a time of its monotonic clock into one of this process's.
  virtual double clock_offset_s() const = 0;
};

}  // namespace rtrain
