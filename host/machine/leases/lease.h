// host/machine/leases/lease.h: the cores and GPUs of this node that a run holds, so that runs side
// by side share them.
//
// A core is a file in the runtime folder, holding it is an flock on that file; a part of a GPU is
// one too. Workers inherit the descriptor, and no process ever unlocks: a core or a device is free
// exactly when the last process that uses it is gone, however its controller has ended.
//
// They are taken all or nothing, and a run that waits holds none: no two runs can wait for each
// other. Those that wait are served in the order in which they came: each holds a ticket, a locked
// file too, so that the dead keep no run waiting. Only who waits for a GPU is overtaken, by runs
// that want none. Everything below happens under one lock of the folder, held for a moment.
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
  int pid = 0;  // of the controller

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

// All that one holder has.
struct LeaseShare {
  LeaseHolder holder;
  std::vector<int> cores;
  std::vector<HeldGpu> gpus;
};

// The holders with their cores and devices, and who waits, the first first.
struct LeaseTable {
  int offered = 0;
  std::vector<HeldCore> held;
  std::vector<HeldGpu> gpus;
  std::vector<LeaseHolder> waiting;

  std::vector<LeaseShare> shares() const;
  // Cores that no run holds; 0 where fewer are offered than are held.
  int free() const;
};
// Throws kEnvironment without a runtime folder, kTimeout when its lock is held for a second.
LeaseTable read_lease_table();

// The cores and devices that a run could hold now, with those that it holds; somebody who waits has
// a better right to the rest.
struct LeaseCapacity {
  int cores = 0;
  std::vector<int> gpus;  // thousandths of each device that it may use
};

// A part of one of these devices.
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
  // `gpus`: the UUIDs of the devices that the run may use. Throws kEnvironment without a runtime
  // folder.
  explicit NodeLease(LeaseHolder self, std::vector<std::string> gpus = {});

  // The request where there is this capacity; nothing: not enough.
  using Choice = std::function<std::optional<LeaseRequest>(const LeaseCapacity& capacity)>;
  // Holds the choice. Where the capacity is not enough, or somebody came earlier, everything
  // held is given up and this one stands in the queue (false): ask again. A run that was started by
  // a process of another run works with the lease of that one, and holds nothing. Throws as
  // read_lease_table.
  bool try_take(const Choice& choose);
  // As many cores as possible between min and max.
  bool try_take(int min, int max);

  LeaseCapacity capacity() const;

  int size() const { return static_cast<int>(cores_.size()); }
  bool is_borrowed() const { return borrowed_; }
  struct Core {
    int core;
    int fd;
  };
  std::vector<Core> cores() const;
  // The descriptors of the parts held, in the order in which they were chosen.
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
