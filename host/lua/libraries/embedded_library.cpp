#include "host/lua/libraries/embedded_library.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/machine/processes/process_limits.h"

namespace rtrain::lua {
namespace {

constexpr int kSeals = F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

}  // namespace

void* open_library(const std::string& path, int flags) {
  void* handle = dlopen(path.c_str(), flags);
  if (handle == nullptr) {
    const std::string reason = dlerror();
    const bool is_memory = reason.find("failed to map segment") != reason.npos ||
                           reason.find("cannot allocate memory") != reason.npos;
    throw Error(Code::kEnvironment, cat("cannot load ", path, ": ", reason,
                                        is_memory ? machine::address_limit_text() : ""));
  }
  return handle;
}

int EmbeddedLibrary::make_file() {
  const int fd = memfd_create(image_.name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
  problem_ = errno;
  if (fd < 0) return -1;
  const auto* begin = image_.begin;
  while (begin < image_.end) {
    const ssize_t n = write(fd, begin, static_cast<size_t>(image_.end - begin));
    if (n <= 0) {
      problem_ = errno;
      close(fd);
      return -1;
    }
    begin += n;
  }
  fcntl(fd, F_ADD_SEALS, kSeals);
  return fd;
}

// A sealed file still holds what its maker wrote. Worker and controller compare their builds.
bool EmbeddedLibrary::is_file(int fd) const {
  struct stat info {};
  return fcntl(fd, F_GET_SEALS) == kSeals && fstat(fd, &info) == 0 &&
         info.st_size == image_.end - image_.begin;
}

void EmbeddedLibrary::take_file(int fd) {
  if (!is_file(fd)) return;
  std::call_once(once_, [this, fd] { fd_ = fd; });
}

int EmbeddedLibrary::file() {
  std::call_once(once_, [this] { fd_ = make_file(); });
  return fd_;
}

std::string EmbeddedLibrary::path() {
  const char* given = std::getenv(image_.path_variable);
  if (given != nullptr) return given;
  if (file() >= 0) return cat("/proc/self/fd/", fd_);
  throw Error(
      Code::kEnvironment,
      cat("cannot unpack ", image_.name, " into memory, ", (image_.end - image_.begin) >> 10,
          " KiB: ", std::string_view(std::strerror(problem_)), machine::file_size_limit_text()));
}

void* EmbeddedLibrary::load(const char* function) {
  const std::string library = path();
  void* symbol = dlsym(open_library(library, RTLD_NOW | RTLD_LOCAL), function);
  if (symbol == nullptr) throw Error(Code::kInternal, cat(library, " has no ", function));
  return symbol;
}

}  // namespace rtrain::lua
