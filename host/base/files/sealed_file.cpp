#include "host/base/files/sealed_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "host/base/error.h"
#include "host/base/files/fd.h"
#include "host/base/text/text.h"

namespace rtrain {

int sealed_file(const std::string& name, std::string_view bytes, std::string_view what) {
  Fd fd(memfd_create(name.c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING));
  std::string_view left = bytes;
  while (fd.get() >= 0 && !left.empty()) {
    const ssize_t n = write(fd.get(), left.data(), left.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    left.remove_prefix(static_cast<size_t>(n));
  }
  if (fd.get() < 0 || !left.empty()) {
    throw Error(Code::kEnvironment, cat("cannot keep ", what, " in memory (", bytes.size(),
                                        " bytes): ", std::string_view(std::strerror(errno))));
  }
  fcntl(fd.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
  return fd.release();
}

}  // namespace rtrain
