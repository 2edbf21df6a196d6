// host/store/files/disk_sync.h: files that others write, brought to the disk.
#pragma once

#include <string>

namespace rtrain {

// fsyncs the file, whoever has written it, and the folder that it is in. Throws kEnvironment.
void sync_to_disk(const std::string& path);

}  // namespace rtrain
