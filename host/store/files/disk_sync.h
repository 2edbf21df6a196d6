// host/store/files/disk_sync.h: syncs files that other code has written.
#pragma once

#include <string>

namespace rtrain::store {

// fsyncs the file and its folder. Throws kEnvironment.
void sync_to_disk(const std::string& path);

}  // namespace rtrain::store
