#include "host/store/files/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "host/base/files/inner_file.h"
#include "host/base/files/store_access.h"
#include "host/base/random.h"
#include "host/base/text/text.h"
#include "host/store/files/write_refusal.h"

namespace rtrain::store {

namespace fs = std::filesystem;

StorageError file_error(std::string_view action, const std::string& path, int error_number) {
  const bool is_full = error_number == ENOSPC || error_number == EDQUOT || error_number == EFBIG;
  return {Code::kEnvironment,
          cat("cannot ", action, " ", path, ": ", std::string_view(std::strerror(error_number))),
          is_full};
}

StorageError file_error(std::string_view action, const std::string& path) {
  return file_error(action, path, errno);
}

bool is_without_locks(int error_number) {
  return error_number == ENOLCK || error_number == EOPNOTSUPP || error_number == ENOSYS;
}

bool has_locks(const std::string& folder) {
  const OpenFile file(folder, O_RDONLY | O_DIRECTORY);
  struct flock range {};
  range.l_type = F_WRLCK;
  range.l_whence = SEEK_SET;
  return ::fcntl(file.fd(), F_OFD_GETLK, &range) == 0 || !is_without_locks(errno);
}

Error no_locks_error(const std::string& path) {
  return Error(Code::kEnvironment,
               cat("cannot lock ", path,
                   ": its file system has no locks, so that two controllers could write one run; "
                   "choose a storage on a local disk, or have the file system mounted with locks"));
}

FileIdentity FileIdentity::of(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return {};
  return {info.st_dev, info.st_ino};
}

// O_NONBLOCK, because opening a FIFO would wait otherwise; it has no effect on files and folders.
OpenFile::OpenFile(const std::string& path, int flags)
    : fd_(open_in_store(path, flags | O_NONBLOCK | O_NOCTTY)), path_(path) {
  check(flags);
}

OpenFile::OpenFile(const std::string& folder, const std::string& path, int flags)
    : fd_(open_beneath(folder, path, flags | O_NONBLOCK)), path_(path) {
  check(flags);
}

void OpenFile::check(int flags) {
  const char* action = (flags & O_ACCMODE) == O_RDONLY ? "open" : "write";
  if (fd_ < 0) throw file_error(action, path_);
  struct stat info {};
  if (::fstat(fd_, &info) == 0 && (S_ISREG(info.st_mode) || S_ISDIR(info.st_mode))) return;
  ::close(std::exchange(fd_, -1));
  throw Error(Code::kEnvironment, cat("cannot ", action, " ", path_, ": it is not a regular file"));
}

OpenFile::OpenFile(OpenFile&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), path_(std::move(other.path_)) {}

OpenFile& OpenFile::operator=(OpenFile&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(path_, other.path_);
  return *this;
}

OpenFile::~OpenFile() {
  if (fd_ >= 0) ::close(fd_);
}

bool OpenFile::is_at_its_path() const {
  struct stat held {};
  if (::fstat(fd_, &held) != 0) throw file_error("look at", path_);
  return FileIdentity::of(path_) == FileIdentity{held.st_dev, held.st_ino};
}

void OpenFile::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw file_error("write", path_);
    bytes.remove_prefix(static_cast<size_t>(written));
  }
}

void OpenFile::sync_data() {
  int result = 0;
  do {
    result = ::fdatasync(fd_);
  } while (result != 0 && errno == EINTR);
  if (result != 0) throw file_error("sync", path_);
}

bool make_folder(const std::string& path) {
  if (make_folder_in_store(path) == 0) return true;
  if (errno == EEXIST) return false;
  const int error_number = errno;
  const fs::path parent = fs::path(path).parent_path();
  const std::string refusal = write_refusal(parent.empty() ? "." : parent.string());
  if ((error_number == EACCES || error_number == EROFS) && !refusal.empty()) {
    throw StorageError(Code::kEnvironment, cat("cannot make folder ", path, ": ", refusal), false);
  }
  throw file_error("make folder", path, error_number);
}

void ensure_folder(const std::string& path) {
  const std::string parent = fs::path(path).parent_path();
  if (make_folder(path)) return sync_folder(parent.empty() ? "." : parent);
  // A dangling link is not a folder.
  if (path_kind(path) != "folder") throw file_error("make folder", path, ENOTDIR);
}

void make_folders(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0) {
    if (S_ISDIR(info.st_mode)) return;
    throw file_error("make folder", path, ENOTDIR);
  }
  if (errno == ENOTDIR) throw file_error("make folder", path, ENOTDIR);
  const std::string parent = fs::path(path).parent_path();
  if (!parent.empty() && parent != path) make_folders(parent);
  ensure_folder(path);
}

void sync_folder(const std::string& path) {
  OpenFile folder(path, O_RDONLY | O_DIRECTORY);
  // Some network file systems cannot sync a folder and return EINVAL, which is ignored.
  int result = 0;
  do {
    result = ::fsync(folder.fd());
  } while (result != 0 && errno == EINTR);
  if (result != 0 && errno != EINVAL) throw file_error("sync folder", path);
}

void sync_folder_tree(const std::string& path) {
  for (const std::string& name : folder_entries(path)) {
    const std::string entry = path + "/" + name;
    if (fs::symlink_status(entry).type() == fs::file_type::directory) sync_folder_tree(entry);
  }
  sync_folder(path);
}

bool remove_tree(const std::string& path) noexcept {
  constexpr int kOpenFolders = 16;
  const auto remove_entry = [](const char* entry, const struct stat*, int, struct FTW*) {
    return ::remove(entry) != 0 && errno != ENOENT ? 1 : 0;
  };
  if (::nftw(path.c_str(), remove_entry, kOpenFolders, FTW_DEPTH | FTW_PHYS) == 0) return true;
  return errno == ENOENT && !path_exists(path);
}

int64_t folder_size(const std::string& path) {
  std::error_code gone;
  int64_t size = 0;
  const auto add = [&](const fs::directory_entry& entry) {
    if (entry.is_symlink(gone) || !entry.is_regular_file(gone)) return;
    const auto bytes = entry.file_size(gone);
    if (!gone) size += static_cast<int64_t>(bytes);
  };
  add(fs::directory_entry(path, gone));
  fs::recursive_directory_iterator entry(path, gone);
  for (; !gone && entry != fs::recursive_directory_iterator(); entry.increment(gone)) add(*entry);
  return size;
}

std::string file_stamp(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return "";
  return cat(info.st_size, " ", info.st_mtim.tv_sec, ".", info.st_mtim.tv_nsec);
}

bool path_exists(const std::string& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0;
}

bool is_symlink(const std::string& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0 && S_ISLNK(info.st_mode);
}

std::string path_kind(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return "";
  if (S_ISDIR(info.st_mode)) return "folder";
  return S_ISREG(info.st_mode) ? "file" : "other";
}

std::vector<std::string> folder_entries(const std::string& path) {
  DIR* folder = ::opendir(path.c_str());
  if (folder == nullptr) {
    if (errno == ENOENT) return {};
    throw file_error("read folder", path);
  }
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(folder)) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  ::closedir(folder);
  std::sort(names.begin(), names.end());
  return names;
}

namespace {

std::string text_of(const OpenFile& file) {
  std::string text;
  std::array<char, 16384> buffer;
  while (true) {
    const ssize_t got = ::read(file.fd(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw file_error("read", file.path());
    if (got == 0) return text;
    text.append(buffer.data(), static_cast<size_t>(got));
  }
}

}  // namespace

std::string read_text(const std::string& path) { return text_of(OpenFile(path, O_RDONLY)); }

std::string read_text_beneath(const std::string& folder, const std::string& path) {
  return text_of(OpenFile(folder, path, O_RDONLY));
}

void replace_text(const std::string& path, std::string_view text) {
  const std::string temporary = cat(path, ".", random_hex(8));
  try {
    OpenFile file(temporary, O_WRONLY | O_CREAT | O_EXCL);
    file.write(text);
    file.sync_data();
    if (::rename(temporary.c_str(), path.c_str()) != 0) throw file_error("write", path);
  } catch (const Error&) {
    ::unlink(temporary.c_str());
    throw;
  }
  sync_folder(fs::path(path).parent_path());
}

std::string absolute_path(const std::string& path) {
  std::string expanded = path;
  if (path == "~" || path.starts_with("~/")) {
    const char* home = std::getenv("HOME");
    if (home == nullptr)
      throw Error(Code::kEnvironment, cat("cannot expand ", path, ": HOME is not set"));
    expanded = home + path.substr(1);
  }
  std::error_code error;
  std::string clean = fs::absolute(expanded, error).lexically_normal();
  if (error) {
    throw Error(Code::kEnvironment, cat("cannot find ", path, ": the current folder is gone (",
                                        error.message(), "): change to one that exists"));
  }
  if (clean.size() > 1 && clean.back() == '/') clean.pop_back();
  return clean;
}

}  // namespace rtrain::store
