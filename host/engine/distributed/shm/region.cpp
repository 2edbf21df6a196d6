#include "host/engine/distributed/shm/region.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "host/base/error.h"
#include "host/base/random.h"
#include "host/base/text/text.h"

namespace rtrain::engine {
namespace {

Error failed(std::string_view what) {
  return Error(Code::kEnvironment, cat("shared memory: ", what, ": ", std::strerror(errno)));
}

}  // namespace

ShmRegion::ShmRegion(Fd fd, size_t bytes) : fd_(std::move(fd)), size_bytes_(kHeaderBytes + bytes) {
  void* memory = ::mmap(nullptr, size_bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
                        fd_.get(), 0);
  if (memory == MAP_FAILED) throw failed("mmap");
  memory_ = static_cast<std::byte*>(memory);
  ::madvise(memory_, size_bytes_, MADV_DONTDUMP);
}

ShmRegion::ShmRegion(ShmRegion&& other) noexcept
    : fd_(std::move(other.fd_)),
      size_bytes_(other.size_bytes_),
      memory_(std::exchange(other.memory_, nullptr)) {}

ShmRegion::~ShmRegion() {
  if (memory_ != nullptr) ::munmap(memory_, size_bytes_);
}

ShmRegion ShmRegion::create(size_t bytes) {
  Fd fd(::memfd_create("rtrain-tensors", MFD_CLOEXEC));
  if (!fd.is_open()) throw failed("memfd_create");
  if (::ftruncate(fd.get(), static_cast<off_t>(kHeaderBytes + bytes)) != 0) throw failed("size");
  ShmRegion out(std::move(fd), bytes);
  const std::string random = random_bytes(sizeof(int64_t));
  std::memcpy(&out.token(), random.data(), sizeof(int64_t));
  return out;
}

ShmRegion ShmRegion::open(const Address& address, size_t bytes) {
  const std::string path = cat("/proc/", address.pid, "/fd/", address.fd);
  Fd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (!fd.is_open() && errno == ENOENT) {
    throw Error(Code::kPeerLost, "the rank that has made the shared memory has ended");
  }
  if (!fd.is_open()) throw failed(path);
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0 || static_cast<size_t>(info.st_size) != kHeaderBytes + bytes) {
    throw Error(Code::kEnvironment, cat("shared memory: ", path, " is something else"));
  }
  ShmRegion out(std::move(fd), bytes);
  if (out.token() != address.token) {
    throw Error(Code::kEnvironment, cat("shared memory: ", path, " is another group's"));
  }
  return out;
}

ShmRegion::Address ShmRegion::address() const {
  return {.pid = ::getpid(), .fd = fd_.get(), .token = token()};
}

}  // namespace rtrain::engine
