// host/machine/leases/resource_report.h: the cores and GPUs of this node as plain data: how many
// runs may use, which runs hold them, and which runs wait.
#pragma once

#include "host/base/value.h"

namespace rtrain::machine {

// Returns {cpus: {host, offered, free}, gpus: [{index, uuid, name, free, state}], leases: [{run,
// pid, cores, gpus}], waiting: [{run, pid}]}.
Value read_resources();

}  // namespace rtrain::machine
