// host/cli/machine/gc.h: what `rtrain gc` does besides removing files of no run.
#pragma once

#include "host/cli/screen/listing.h"

namespace rtrain {

// Rebuilds a damaged store from what can be read of it and from the checkpoints.
void rebuild_store(const ListingOptions& options);

// What bundles have unpacked on this machine: what no process uses is removed, or would be.
void collect_bundles(const ListingOptions& options, bool dry_run);

// The same, listed alone.
void list_bundles(const ListingOptions& options);

}  // namespace rtrain
