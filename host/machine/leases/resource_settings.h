// host/machine/leases/resource_settings.h: how many cores of this node runs may use: what it has,
// unless `rtrain resources --set cpus=N` says otherwise. Kept in the runtime folder.
#pragma once

#include <optional>

namespace rtrain::machine {

// Nothing: the node's own number counts. Throws kEnvironment without a runtime folder or for a file
// that cannot be written.
void set_cpus_setting(std::optional<int> cpus);

// The cores that runs may use together: the setting, else available_cores(). Throws kEnvironment
// without a runtime folder or for a file that cannot be read.
int offered_cores();

}  // namespace rtrain::machine
