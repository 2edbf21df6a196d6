// host/machine/leases/lease.h: the cores and GPUs of this node that a run holds, so that several
// runs share the node.
//
// A core is a file in the runtime folder, and so is a part of a GPU. A run holds it by an flock on
// that file. Workers inherit the descriptor, and no process ever unlocks it: a core or a device is
// free exactly when the last process that uses it has ended, however its controller has ended.
//
// A run takes all that it requests or nothing, and a run that waits holds nothing: so two runs
// cannot wait for each other. Waiting runs are served in the order of their tickets. A ticket is a
// locked file too, so a dead run blocks no other. Only runs that wait for a GPU are overtaken, by
// runs that request none. All of this happens under one lock of the folder, held for a moment.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "host/base/files/fd.h"

namespace rtrain::machine {

class LeaseFolder;

struct LeaseHolder {
  std::string run;
  int pid = 0;  // the controller's

  bool operator==(const LeaseHolder&) const = default;
};

struct HeldCore {
  int core = 0;
  LeaseHolder holder;
};

// A part of a device, in thousandths (host/machine/leases/gpu_request.h).
struct HeldGpu {
  std::string uuid;
  int share = 0;
  LeaseHolder holder;
};

// All cores and devices of one holder.
struct LeaseShare {
  LeaseHolder holder;
  std::vector<int> cores;
  std::vector<HeldGpu> gpus;
};

// The holders with their cores and devices, and the waiting runs, the earliest first.
struct LeaseTable {
  int offered = 0;
  std::vector<HeldCore> held;
  std::vector<HeldGpu> gpus;
  std::vector<LeaseHolder> waiting;

  std::vector<LeaseShare> shares() const;
  // Cores that no run holds; 0 if more are held than are offered.
  int free() const;
};
// Throws Error(kEnvironment) without a runtime folder, kTimeout if its lock is held for a second.
LeaseTable read_lease_table();

// The cores and devices that a run could hold now, including those that it holds already. Runs that
// have waited for longer take precedence for the rest.
struct LeaseCapacity {
  int cores = 0;
  std::vector<int> gpus;  // thousandths of each device that it may use
};

// A part of one device.
struct GpuPart {
  int device = 0;
  int share = 0;

  bool operator==(const GpuPart&) const = default;
};

// The request of a run.
struct LeaseRequest {
  int cores = 0;
  std::vector<GpuPart> gpus;
};

class NodeLease {
 public:
  // `gpus` are the UUIDs of the devices that the run may use. Throws Error(kEnvironment) without a
  // runtime folder.
  explicit NodeLease(LeaseHolder self, std::vector<std::string> gpus = {});

  // Returns the request that suits this capacity; nothing if the capacity is not enough.
  using Choice = std::function<std::optional<LeaseRequest>(const LeaseCapacity& capacity)>;
  // Takes what `choose` returns. If the capacity is not enough, or another run came earlier, this
  // gives up everything that it holds, joins the queue and returns false: ask again. A run that was
  // started by a process of another run works with that run's lease, and holds nothing. Throws as
  // read_lease_table() does.
  bool try_take(const Choice& choose);
  // Takes as many cores as possible between min and max.
  bool try_take(int min, int max);

  LeaseCapacity capacity() const;

  int size() const { return static_cast<int>(cores_.size()); }
  bool is_borrowed() const { return borrowed_; }
  struct Core {
    int core;
    int fd;
  };
  std::vector<Core> cores() const;
  // The descriptors of the held parts, in the order in which they were chosen.
  std::vector<int> gpu_fds() const;

 private:
  struct Taken {
    int core;
    Fd file;
  };
  struct TakenGpu {
    GpuPart part;
    Fd file;
  };

  bool is_inside_a_run(const LeaseFolder& folder) const;
  LeaseCapacity capacity_in(const LeaseFolder& folder) const;
  void resize(const LeaseFolder& folder, int count);
  void take_gpus(const LeaseFolder& folder, const std::vector<GpuPart>& parts);
  void queue(const LeaseFolder& folder, const Choice& choose, LeaseCapacity capacity);

  LeaseHolder self_;
  std::vector<std::string> uuids_;
  std::vector<Taken> cores_;
  std::vector<TakenGpu> gpus_;
  Fd ticket_;
  int64_t ticket_number_ = 0;
  bool borrowed_ = false;
};

}  // namespace rtrain::machine
