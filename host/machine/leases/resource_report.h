// host/machine/leases/resource_report.h: the cores and GPUs of this node as plain data: how many
// runs may use, who holds them, who waits.
#pragma once

#include "host/base/value.h"

namespace rtrain::machine {

// {cpus: {host, offered, free}, gpus: [{index, uuid, name, free, state}], leases: [{run, pid,
// cores, gpus}], waiting: [{run, pid}]}.
Value read_resources();

}  // namespace rtrain::machine
