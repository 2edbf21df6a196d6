// host/machine/leases/lease_folder.h: the files behind host/machine/leases/lease.h. The object
// holds their common lock.
//
// <runtime folder>/leases/ has `lock` with the number of the next ticket, `core-N` for each core
// that was ever taken, `gpu-N` for each part of a device, `ticket-N` for each run that waits. A
// locked file belongs to the run that its text names.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "host/base/files/fd.h"
#include "host/base/value.h"
#include "host/machine/leases/lease.h"

namespace rtrain::machine {

class LeaseFolder {
 public:
  // Takes the lock. Throws Error(kEnvironment), and kTimeout after a second.
  LeaseFolder();

  // The cores that a run holds, by number.
  std::vector<HeldCore> held() const;
  // The parts of devices that a run holds.
  std::vector<HeldGpu> held_gpus() const;
  // The resource that the run waits for decides who may overtake it.
  struct Request {
    bool wants_gpus = false;
    bool lacks_gpus = false;  // it lacks GPUs however many cores are free
  };
  struct Ticket {
    int64_t number;
    LeaseHolder holder;
    Request request;
  };
  // Returns the tickets of waiting runs, the earliest first. Removes tickets of dead runs.
  std::vector<Ticket> tickets() const;

  // Returns a locked file with the holder's name in it; a closed Fd when another run holds the
  // core.
  Fd take_core(int core, const LeaseHolder& holder) const;
  Fd take_gpu(const HeldGpu& gpu) const;
  struct NewTicket {
    int64_t number;
    Fd file;
  };
  NewTicket take_ticket(const LeaseHolder& holder) const;
  void write_ticket(const Fd& ticket, const LeaseHolder& holder, Request request) const;
  void drop_ticket(int64_t number) const;

 private:
  // A file that a run holds.
  struct Locked {
    int64_t number;
    Value content;
  };
  std::vector<Locked> locked(const std::string& prefix) const;
  Fd open(const std::string& name, int flags) const;
  Fd take(const std::string& name, const Value& text) const;
  std::vector<int64_t> numbers(const std::string& prefix) const;

  std::string path_;
  Fd lock_;
};

}  // namespace rtrain::machine
