// host/train/watch/device_faults.h: what the devices of an attempt's ranks have reported, and which
// errors of the ranks that explains.
//
// Belongs to the control thread.
#pragma once

#include <string>
#include <vector>

#include "host/base/error.h"
#include "host/node/workers/node.h"

namespace rtrain {

class DeviceFaults {
 public:
  void add(const DeviceFault& fault);
  // The error of a rank, with the errors that its devices have had shortly before.
  Error explain(int rank, const Error& error) const;

 private:
  struct Entry {
    DeviceFault fault;
    double time_s;
  };
  std::vector<Entry> faults_;
};

// "rank 1: its device cuda:0 (…) reports Xid 79 …"
std::string to_text(const DeviceFault& fault);

}  // namespace rtrain
