#include "host/base/files/input_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "host/base/error.h"
#include "host/base/text/text.h"

namespace rtrain {
namespace {

[[noreturn]] void fail(Code code, const std::string& path, std::string_view reason) {
  throw Error(code, cat("cannot read '", path, "': ", reason));
}

}  // namespace

InputFile::InputFile(const std::string& path, Access access) : path_(path) {
  // O_NONBLOCK, so that opening a pipe does not wait for its writer.
  fd_ = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd_ < 0) {
    const bool absent = errno == ENOENT || errno == ENOTDIR;
    fail(absent ? Code::kNotFound : Code::kEnvironment, path, std::strerror(errno));
  }
  struct stat status {};
  const bool known = fstat(fd_, &status) == 0;
  if (!known || !S_ISREG(status.st_mode)) {
    close(fd_);
    fail(Code::kArgument, path,
         known && S_ISDIR(status.st_mode) ? "it is a folder" : "it is not a regular file");
  }
  size_ = static_cast<uint64_t>(status.st_size);
  if (access == Access::kMap && size_ > 0) map();
}

InputFile::~InputFile() { close(fd_); }

void InputFile::map() {
  const size_t size = size_;
  void* start = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, fd_, 0);
  if (start == MAP_FAILED) {
    const std::string reason = std::strerror(errno);
    close(fd_);
    fail(Code::kEnvironment, path_, cat("it cannot be mapped (", reason, "): leave mmap out"));
  }
  mapping_ = std::shared_ptr<char>(static_cast<char*>(start),
                                   [size](char* bytes) { munmap(bytes, size); });
}

void InputFile::read(uint64_t offset, void* to, size_t size) const {
  char* out = static_cast<char*>(to);
  while (size > 0) {
    const ssize_t n = pread(fd_, out, size, static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail(Code::kEnvironment, path_, std::strerror(errno));
    if (n == 0) fail(Code::kEnvironment, path_, "it became shorter while it was read");
    out += n;
    offset += static_cast<uint64_t>(n);
    size -= static_cast<size_t>(n);
  }
}

}  // namespace rtrain
