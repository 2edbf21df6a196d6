#include "host/base/files/store_access.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>

namespace rtrain {
namespace {

constexpr mode_t kPermissions = 07777;

std::string folder_of(const std::string& path) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  return folder.empty() ? "." : folder.string();
}

bool is_shared(const std::string& folder) {
  struct stat info {};
  constexpr mode_t kShared = S_ISGID | S_IWGRP;
  return ::stat(folder.c_str(), &info) == 0 && (info.st_mode & kShared) == kShared;
}

// Returns the permissions of a new entry of the folder.
mode_t store_file_mode(const std::string& folder) { return is_shared(folder) ? 0660 : 0600; }
mode_t store_folder_mode(const std::string& folder) { return is_shared(folder) ? 02770 : 0700; }

// Adds execute permission wherever there is read permission.
mode_t executable(mode_t mode) { return mode | (mode & 0444) >> 2; }

}  // namespace

int open_in_store(const std::string& path, int flags) {
  if ((flags & O_CREAT) == 0) return ::open(path.c_str(), flags | O_CLOEXEC);
  // O_NOFOLLOW: another member of the folder's group could create a link here to a file of the
  // user's elsewhere.
  const int fd = ::open(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd >= 0) {
    const int reason = errno;
    set_store_access(path);
    errno = reason;
  }
  return fd;
}

int make_folder_in_store(const std::string& path) {
  const mode_t mode = store_folder_mode(folder_of(path));
  if (::mkdir(path.c_str(), mode) != 0) return -1;
  ::chmod(path.c_str(), mode);
  return 0;
}

void set_store_access(const std::string& path) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) return;
  const bool is_folder = S_ISDIR(info.st_mode);
  if (!is_folder && (!S_ISREG(info.st_mode) || info.st_nlink > 1)) return;
  const std::string folder = folder_of(path);
  mode_t mode = is_folder ? store_folder_mode(folder) : store_file_mode(folder);
  if (!is_folder && (info.st_mode & S_IXUSR) != 0) mode = executable(mode);
  // chmod fails for a file of another user, which then keeps its permissions.
  if ((info.st_mode & kPermissions) != mode) ::chmod(path.c_str(), mode);
}

}  // namespace rtrain
