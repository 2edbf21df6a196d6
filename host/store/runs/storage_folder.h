// host/store/runs/storage_folder.h: the folder of results.
#pragma once

#include <string>

namespace rtrain {

// Where runs go: the folder named, else $RTRAIN_STORAGE, else ~/rtrain_results. Absolute. For a URI
// of an object store the folder that stands for it (host/store/checkpoints/object_storage.h).
// Throws Error(kUnsupported) for another URL, kEnvironment where nothing is named and HOME is not
// set.
std::string storage_folder(const std::string& named = "");

}  // namespace rtrain
