// host/node/workers/node.h: starts and watches workers of an attempt on this machine, or on another
// one through its agent.
//
// A node carries out orders and reports; the controller decides. It has the ranks from `first_rank`
// on. It belongs to one attempt, or to several if ranks are replaced or left out. A rank keeps its
// number here, whatever it is in a later attempt (NodeGroup::place).
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

namespace rtrain::node {

// The workers that a node is to start; to the agent of another node it is a message.
struct NodeOrder {
  static constexpr std::string_view kType = "start_workers";
  int attempt = 1;
  int first_rank = 0;
  int num_workers = 1;
  // Of the group's ranks the node has that many already, which stay.
  int first_local_rank = 0;
  int threads = 0;             // for each worker; 0: cores / workers, unless OMP_NUM_THREADS is set
  double gpus_per_worker = 0;  // if a launcher has allotted them
  std::string accelerator_type = {};
  double gpu_sample_s = 0;   // 0: no series of the devices
  double host_sample_s = 0;  // 0: none of processes and node
  StringPairs env = {};      // of the workers
  std::string address =
      {};  // the node's, for sockets of ranks on other nodes; empty: there are none
  // Starts no process: the workers exist already (see WorkerEndpoints).
  bool is_local = false;

  static constexpr RecordFields kFields{required("attempt", &NodeOrder::attempt),
                                        required("first_rank", &NodeOrder::first_rank),
                                        required("num_workers", &NodeOrder::num_workers),
                                        optional("first_local_rank", &NodeOrder::first_local_rank),
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
  int pid = 0;  // 0: not known yet, for a worker that existed already
  int threads = 1;
  std::vector<WorkerGpu> gpus;

  static constexpr RecordFields kFields{required("pid", &SpawnedWorker::pid),
                                        required("threads", &SpawnedWorker::threads),
                                        optional("gpus", &SpawnedWorker::gpus)};
};

// An error that a device of a rank reports.
struct DeviceFault {
  int rank = 0;
  WorkerGpu gpu;
  int64_t xid = 0;

  static constexpr RecordFields kFields{required("rank", &DeviceFault::rank),
                                        required("gpu", &DeviceFault::gpu),
                                        required("xid", &DeviceFault::xid)};
};

class NodeDelegate {
 public:
  virtual ~NodeDelegate() = default;
  virtual void on_spawned(int rank, const SpawnedWorker& worker) = 0;
  // The node starts no further worker.
  virtual void on_spawn_failed(int rank, const Error& error, bool is_transient) = 0;
  // An encoded message. Throws Error for an invalid one: that worker is killed then.
  virtual void on_frame(int rank, std::string frame) = 0;
  virtual void on_output(int rank, OutputStream stream, std::string_view bytes) = 0;
  // The rank's main thread has ended without leaving its page: its process is ending.
  virtual void on_dying(int rank) = 0;
  // Called after all messages of the worker were passed to the calls above.
  virtual void on_gone(int rank, const WorkerEnd& end) = 0;
  // A chunk of a series of the rank's devices, process or node.
  virtual void on_series(store::SeriesChunk chunk) = 0;
  virtual void on_device_fault(const DeviceFault& fault) = 0;
};

// One method for each order that the controller gives.
class Node {
 public:
  virtual ~Node() = default;
  // Starts its workers one after the other.
  virtual void spawn() = 0;
  // Sends an encoded message. Does nothing for a rank that was not started or whose channel is
  // closed.
  virtual void send(int rank, std::string_view frame) = 0;
  // The rank has sent hello from that process: from now on its death is detected.
  virtual void set_attached(int rank, int pid) = 0;
  // Passes all messages that the workers have sent so far to the delegate, without waiting.
  virtual void drain() = 0;
  // While held, the workers' output stays in their pipes: a worker that prints more blocks.
  virtual void hold_output(bool held) = 0;
  // SIGKILL to every worker and its descendants.
  virtual void kill() = 0;
  // The attempt has ended: nothing more is reported about its devices.
  virtual void close() = 0;

  // Whether an ended process can be replaced while the node's other ones continue.
  virtual bool replaces() const { return false; }
  // The existing workers continue in another attempt, with this delegate.
  virtual void hand_over(NodeDelegate& /*delegate*/) { RT_CHECK(false); }
  // Starts the process of a rank again, whose last one has ended. Not from inside a call of the
  // delegate.
  virtual void replace(int /*rank*/) { RT_CHECK(false); }
  // Starts a spare, to which `frame` is the first message: replace() uses it if it is there.
  // Nothing happens where the ranks would feel it. REQUIRES: !has_spare().
  virtual void make_spare(std::string_view /*frame*/) {}
  virtual bool has_spare() const { return false; }
  virtual void drop_spare() {}
  // SIGKILL to one worker and its descendants.
  virtual void kill(int /*rank*/) { RT_CHECK(false); }
  // The others continue without the rank, whose process has ended: no commit waits for it.
  virtual void leave_out(int /*rank*/) { RT_CHECK(false); }
  // Gives a rank the small state of train.elastic that a process on a lost node has had at that
  // step. Call it after spawn().
  virtual void keep(int /*rank*/, uint64_t /*step*/, std::string_view /*bytes*/) {
    RT_CHECK(false);
  }
  // As in CommitBoard, if other nodes have ranks too.
  virtual void set_others_ready(uint64_t /*step*/) {}
  virtual void set_others_lost() {}

  virtual decide::RankFacts facts(int rank) const = 0;
  // Bytes of checkpoints that its ranks have copied so far.
  virtual uint64_t copied_bytes() const = 0;
  // The offset to add to a time of its monotonic clock to get one of this process's.
  virtual double clock_offset_s() const = 0;
};

}  // namespace rtrain::node
