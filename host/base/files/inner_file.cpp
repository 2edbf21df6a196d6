#include "host/base/files/inner_file.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "host/base/files/fd.h"

namespace rtrain {
namespace {

// Opens one folder after the other, for kernels before 5.6 and sandboxes without openat2.
int open_by_steps(Fd folder, std::string_view path, int flags) {
  for (size_t end = path.find('/'); end != std::string_view::npos; end = path.find('/')) {
    const std::string name(path.substr(0, end));
    constexpr int kFolder = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    Fd next(::openat(folder.get(), name.c_str(), kFolder));
    if (!next.is_open()) {
      if (errno == ENOTDIR) errno = ELOOP;
      return -1;
    }
    folder = std::move(next);
    path.remove_prefix(end + 1);
  }
  return ::openat(folder.get(), std::string(path).c_str(), flags | O_NOFOLLOW);
}

}  // namespace

int open_beneath(const std::string& folder, std::string_view path, int flags) {
  const bool is_below =
      path.size() > folder.size() && path.starts_with(folder) && path[folder.size()] == '/';
  const std::string inner(is_below ? path.substr(folder.size() + 1) : std::string_view());
  if (!is_inner_path(inner)) {
    errno = EINVAL;
    return -1;
  }
  Fd root(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!root.is_open()) return -1;
  flags |= O_CLOEXEC | O_NOCTTY;
  struct open_how how {};
  how.flags = static_cast<uint64_t>(flags);
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  const long fd = ::syscall(SYS_openat2, root.get(), inner.c_str(), &how, sizeof how);
  if (fd >= 0 || (errno != ENOSYS && errno != EPERM)) return static_cast<int>(fd);
  return open_by_steps(std::move(root), inner, flags);
}

}  // namespace rtrain
