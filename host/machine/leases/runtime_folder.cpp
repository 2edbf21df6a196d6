#include "host/machine/leases/runtime_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "host/base/error.h"
#include "host/base/text/text.h"

namespace rtrain::machine {
namespace {

// Independent of the session: a login shell, cron and a run that outlives its login share it.
std::string path_from_environment() {
  if (const char* own = std::getenv("RTRAIN_RUNTIME_DIR"); own != nullptr && *own != '\0') {
    return own;
  }
  return cat("/tmp/rtrain-", geteuid());
}

[[noreturn]] void refuse(const std::string& path, std::string_view why) {
  throw Error(Code::kEnvironment,
              cat("the runtime folder ", path, " ", why,
                  ": set RTRAIN_RUNTIME_DIR to a folder that only you can open"));
}

void touch(const std::string& path) {
  utimensat(AT_FDCWD, path.c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
}

}  // namespace

std::string runtime_folder() {
  std::string path = path_from_environment();
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    refuse(path, cat("cannot be made: ", std::strerror(errno)));
  }
  struct stat info {};
  if (lstat(path.c_str(), &info) != 0) refuse(path, std::strerror(errno));
  if (!S_ISDIR(info.st_mode)) refuse(path, "is not a folder");
  if (info.st_uid != geteuid()) refuse(path, "belongs to another user");
  if ((info.st_mode & 077) != 0) refuse(path, "is open to other users");
  return path;
}

RuntimeFolderMark::RuntimeFolderMark() : path_(runtime_folder()) {
  struct stat info {};
  if (lstat(path_.c_str(), &info) != 0) refuse(path_, std::strerror(errno));
  device_ = info.st_dev;
  inode_ = info.st_ino;
}

bool RuntimeFolderMark::is_gone() const {
  struct stat info {};
  if (lstat(path_.c_str(), &info) != 0) return errno == ENOENT || errno == ENOTDIR;
  return info.st_dev != device_ || info.st_ino != inode_;
}

void RuntimeFolderMark::touch_files() const {
  namespace fs = std::filesystem;
  touch(path_);
  std::error_code error;
  for (auto at = fs::recursive_directory_iterator(path_, error);
       !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
    touch(at->path());
  }
}

}  // namespace rtrain::machine
