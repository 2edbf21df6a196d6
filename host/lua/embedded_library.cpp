#include "host/lua/embedded_library.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>

#include "host/base/error.h"
#include "host/base/text.h"

namespace rtrain {

void* open_library(const std::string& path, int flags) {
  void* handle = dlopen(path.c_str(), flags);
  if (handle == nullptr) {
    throw Error(Code::kEnvironment, cat("cannot load ", path, ": ", std::string_view(dlerror())));
  }
  return handle;
}

int EmbeddedLibrary::make_file() const {
  const int fd = memfd_create(image_.name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) return -1;
  const auto* begin = image_.begin;
  while (begin < image_.end) {
    const ssize_t n = write(fd, begin, static_cast<size_t>(image_.end - begin));
    if (n <= 0) {
      close(fd);
      return -1;
    }
    begin += n;
  }
  fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
  return fd;
}

int EmbeddedLibrary::file() {
  std::call_once(once_, [this] {
    const char* inherited =
        image_.inherited_variable == nullptr ? nullptr : std::getenv(image_.inherited_variable);
    fd_ = inherited != nullptr ? std::atoi(inherited) : make_file();
  });
  return fd_;
}

void* EmbeddedLibrary::load(const char* function) {
  const char* path = std::getenv(image_.path_variable);
  const std::string library = path != nullptr ? std::string(path) : cat("/proc/self/fd/", file());
  void* symbol = dlsym(open_library(library, RTLD_NOW | RTLD_LOCAL), function);
  if (symbol == nullptr) throw Error(Code::kInternal, cat(library, " has no ", function));
  return symbol;
}

}  // namespace rtrain
