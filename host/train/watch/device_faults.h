// host/train/watch/device_faults.h: faults reported by the devices of an attempt's ranks, and the
// ranks' errors that they explain.
//
// Belongs to the control thread.
#pragma once

#include <string>
#include <vector>

#include "host/base/error.h"
#include "host/node/workers/node.h"

namespace rtrain::train {

class DeviceFaults {
 public:
  void add(const node::DeviceFault& fault);
  // The rank's error, together with recent faults of its devices.
  Error explain(int rank, const Error& error) const;

 private:
  struct Entry {
    node::DeviceFault fault;
    double time_s;
  };
  std::vector<Entry> faults_;
};

// "rank 1: its device cuda:0 (…) reports Xid 79 …"
std::string to_text(const node::DeviceFault& fault);

}  // namespace rtrain::train
