// host/base/lease.h: the cores of this host that a run holds, so that runs side by side share them.
//
// A core is a file in the runtime folder, holding it is an flock on that file. Workers inherit the
// descriptor, and nobody ever unlocks: a core is free exactly when the last process that uses it is
// gone, however its controller has ended.
//
// Cores are taken all or nothing, and a run that waits holds none: no two runs can wait for each
// other. Those that wait are served in the order in which they came: each holds a ticket, a locked
// file too, so that the dead keep nobody waiting. Everything below happens under one lock of the
// folder, held for a moment.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "host/base/fd.h"

namespace rtrain {

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

// All cores of one holder.
struct LeaseShare {
  LeaseHolder holder;
  std::vector<int> cores;
};

// Who has what, and who waits, the first first.
struct LeaseTable {
  int offered = 0;
  std::vector<HeldCore> held;
  std::vector<LeaseHolder> waiting;

  std::vector<LeaseShare> shares() const;
  // Cores that nobody holds; 0 where fewer are offered than are held.
  int free() const;
};
// Throws kEnvironment without a runtime folder, kTimeout when its lock is held for a second.
LeaseTable read_lease_table();

class CoreLease {
 public:
  // Throws kEnvironment without a runtime folder.
  explicit CoreLease(LeaseHolder self);

  // Makes the number held as large as possible between min and max. Where min cannot be had, or
  // somebody came earlier, everything held is given up and this one stands in the queue (false):
  // ask again. A run that was started by a process of another run works on the cores of that one,
  // and holds none. Throws as read_lease_table.
  bool try_take(int min, int max);

  // How many could be held now, these included; somebody who waits has a better right to the rest.
  int room() const;

  int size() const { return static_cast<int>(cores_.size()); }
  bool is_borrowed() const { return borrowed_; }
  struct Core {
    int core;
    int fd;
  };
  std::vector<Core> cores() const;

 private:
  struct Taken {
    int core;
    Fd file;
  };

  bool is_behind(const LeaseFolder& folder) const;
  void resize(const LeaseFolder& folder, int count);
  void queue(const LeaseFolder& folder);

  LeaseHolder self_;
  std::vector<Taken> cores_;
  Fd ticket_;
  int64_t ticket_number_ = 0;
  bool borrowed_ = false;
};

}  // namespace rtrain
