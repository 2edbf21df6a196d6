// host/cli/machine/gc.h: other functions of `rtrain gc` than removing files without a run.
#pragma once

#include "host/cli/screen/listing.h"

namespace rtrain::cli {

// Rebuilds a damaged store from its readable rows and from the checkpoints.
void rebuild_store(const ListingOptions& options);

// Removes files unpacked by bundles on this machine that no process uses, or lists them in a dry
// run.
void collect_bundles(const ListingOptions& options, bool dry_run);

// Lists the files unpacked by bundles.
void list_bundles(const ListingOptions& options);

}  // namespace rtrain::cli
