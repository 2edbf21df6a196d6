#include "host/store/files/disk_sync.h"

#include <fcntl.h>

#include <filesystem>

#include "host/store/files/file.h"

namespace rtrain::store {

void sync_to_disk(const std::string& path) {
  OpenFile(path, O_RDONLY).sync_data();
  sync_folder(std::filesystem::path(path).parent_path());
}

}  // namespace rtrain::store
