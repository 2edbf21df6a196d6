#include "host/store/files/network_path.h"

#include <sys/vfs.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <filesystem>

namespace rtrain::store {

namespace fs = std::filesystem;

bool is_network_path(const std::string& path) {
  // Magic numbers of statfs(2): NFS, SMB, CIFS, SMB2, Lustre, GPFS, Ceph, 9p, FUSE, AFS, BeeGFS.
  constexpr std::array<uint32_t, 11> kNetwork = {0x6969,     0x517B,     0xFF534D42, 0xFE534D42,
                                                 0x0BD00BD0, 0x47504653, 0x00C36400, 0x01021997,
                                                 0x65735546, 0x5346414F, 0x19830326};
  struct statfs info {};
  fs::path place = path;
  while (::statfs(place.c_str(), &info) != 0) {
    if (errno != ENOENT || place == place.parent_path()) return false;
    place = place.has_parent_path() ? place.parent_path() : fs::path(".");
  }
  const auto type = static_cast<uint32_t>(info.f_type);
  return std::find(kNetwork.begin(), kNetwork.end(), type) != kNetwork.end();
}

}  // namespace rtrain::store
