#include "host/engine/distributed/shm/memory_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "host/base/text/text.h"

namespace rtrain::engine {
namespace {

Error failed(std::string_view what) {
  return Error(Code::kEnvironment, cat("shared memory: ", what, ": ", std::strerror(errno)));
}

std::string path_of(const MemoryFile::Address& address) {
  return cat("/proc/", address.pid, "/fd/", address.fd);
}

}  // namespace

MemoryFile::MemoryFile(Fd fd, size_t bytes) : fd_(std::move(fd)), size_bytes_(bytes) {
  void* memory = ::mmap(nullptr, size_bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
                        fd_.get(), 0);
  if (memory == MAP_FAILED) throw failed("mmap");
  memory_ = static_cast<std::byte*>(memory);
  ::madvise(memory_, size_bytes_, MADV_DONTDUMP);
}

MemoryFile::MemoryFile(MemoryFile&& other) noexcept
    : fd_(std::move(other.fd_)),
      size_bytes_(other.size_bytes_),
      memory_(std::exchange(other.memory_, nullptr)) {}

MemoryFile::~MemoryFile() {
  if (memory_ != nullptr) ::munmap(memory_, size_bytes_);
}

MemoryFile MemoryFile::create(const char* name, size_t bytes) {
  Fd fd(::memfd_create(name, MFD_CLOEXEC));
  if (!fd.is_open()) throw failed("memfd_create");
  if (::ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0) throw failed("size");
  return {std::move(fd), bytes};
}

std::optional<MemoryFile> MemoryFile::try_open(const Address& address) {
  const std::string path = path_of(address);
  Fd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (!fd.is_open() && errno == ENOENT) return std::nullopt;
  if (!fd.is_open()) throw failed(path);
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode) || info.st_size == 0) {
    throw mistaken(address, "something else");
  }
  return MemoryFile(std::move(fd), static_cast<size_t>(info.st_size));
}

Error MemoryFile::mistaken(const Address& address, std::string_view what) {
  return Error(Code::kEnvironment, cat("shared memory: ", path_of(address), " is ", what));
}

MemoryFile::Address MemoryFile::address() const { return {.pid = ::getpid(), .fd = fd_.get()}; }

void MemoryFile::give_back(size_t offset, size_t bytes) {
  ::fallocate(fd_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
              static_cast<off_t>(bytes));
}

}  // namespace rtrain::engine
