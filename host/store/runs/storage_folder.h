// host/store/runs/storage_folder.h: the folder of all runs.
#pragma once

#include <string>

namespace rtrain::store {

// The folder of runs: `named`, else $RTRAIN_STORAGE, else ~/rtrain_results. Absolute. For a URI
// of an object store, the folder that mirrors it (host/store/checkpoints/object_storage.h).
// Throws Error(kUnsupported) for any other URL, kEnvironment if nothing is named and HOME is not
// set.
std::string storage_folder(const std::string& named = "");

}  // namespace rtrain::store
