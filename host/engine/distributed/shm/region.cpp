#include "host/engine/distributed/shm/region.h"

#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "host/base/random.h"

namespace rtrain::engine {

ShmRegion ShmRegion::create(size_t bytes) {
  ShmRegion out(MemoryFile::create("rtrain-tensors", kHeaderBytes + bytes));
  const std::string random = random_bytes(sizeof(int64_t));
  std::memcpy(&out.token(), random.data(), sizeof(int64_t));
  return out;
}

ShmRegion ShmRegion::open(const Address& address, size_t bytes) {
  std::optional<MemoryFile> file = MemoryFile::try_open(address.file);
  if (!file) {
    throw Error(Code::kPeerLost, "the rank that has made the shared memory has ended");
  }
  ShmRegion out(std::move(*file));
  if (out.file_.size() != kHeaderBytes + bytes) {
    throw MemoryFile::mistaken(address.file, "something else");
  }
  if (out.token() != address.token) throw MemoryFile::mistaken(address.file, "another group's");
  return out;
}

}  // namespace rtrain::engine
