// host/machine/leases/resource_settings.h: how many cores of this node runs may use: all, unless
// `rtrain resources --set cpus=N` has set a number. The runtime folder keeps the setting.
#pragma once

#include <optional>

namespace rtrain::machine {

// Without a number, the node's own number counts. Throws Error(kEnvironment) without a runtime
// folder, or when the file cannot be written.
void set_cpus_setting(std::optional<int> cpus);

// Returns the cores that runs may use together: the setting, else available_cores(). Throws
// Error(kEnvironment) without a runtime folder, or when the file cannot be read.
int offered_cores();

}  // namespace rtrain::machine
