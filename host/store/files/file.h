// host/store/files/file.h: file system steps whose failures name the path and the reason.
//
// Every failing system call becomes Error(kEnvironment, "cannot write /runs/x/lock: No space left
// on device"); a full disk is one that may pass (StorageError::may_pass).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "host/store/files/storage_error.h"

namespace rtrain {

// "cannot <action> <path>: <reason of errno>", the errno of the call before.
StorageError file_error(std::string_view action, const std::string& path);
StorageError file_error(std::string_view action, const std::string& path, int error_number);
// The errors of a file system without locks, such as NFS without its lock daemon.
bool is_without_locks(int error_number);
// Whether that folder's file system has them. Asks no file in it: closing one would give up the
// locks that this process has there.
bool has_locks(const std::string& folder);
Error no_locks_error(const std::string& path);

// Which file a path names; false for none.
struct FileIdentity {
  uint64_t device = 0;
  uint64_t inode = 0;

  static FileIdentity of(const std::string& path);
  explicit operator bool() const { return inode != 0; }
  bool operator==(const FileIdentity&) const = default;
};

// An owned file descriptor, close-on-exec.
class OpenFile {
 public:
  OpenFile() = default;
  // Opens with O_CLOEXEC; throws kEnvironment, also for what is neither a file nor a folder (a FIFO
  // would be waited for). A new file gets the permissions of host/base/files/store_access.h.
  OpenFile(const std::string& path, int flags);
  // The same for "<folder>/…" where others may write into the folder: through no symlink below it
  // (open_beneath).
  OpenFile(const std::string& folder, const std::string& path, int flags);
  OpenFile(OpenFile&& other) noexcept;
  OpenFile& operator=(OpenFile&& other) noexcept;
  ~OpenFile();

  int fd() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  const std::string& path() const { return path_; }

  // Whether the path still names this very file.
  bool is_at_its_path() const;

  void write(std::string_view bytes);
  // Throws kEnvironment: an fsync that failed once must not be taken for done by a second call.
  void sync_data();

 private:
  void check(int flags);

  int fd_ = -1;
  std::string path_;
};

// Makes the folder, with the permissions of host/base/files/store_access.h. False when something of
// that name is there.
bool make_folder(const std::string& path);
// Makes the folder, unless it is there, in one that is, and syncs that.
void ensure_folder(const std::string& path);
// The same with its missing parents, and syncs each parent that got a new entry.
void make_folders(const std::string& path);
void sync_folder(const std::string& path);
// fsyncs the folder and every folder below it, the deepest first.
void sync_folder_tree(const std::string& path);

// Removes the file or the folder with everything below it. False when something could not be
// removed; never throws.
bool remove_tree(const std::string& path) noexcept;

// The bytes of a file, or of all files of a folder; what goes meanwhile is left out.
int64_t folder_size(const std::string& path);

bool path_exists(const std::string& path);
bool is_symlink(const std::string& path);
// "file", "folder" or "other" (a pipe, a device), symlinks followed; "" when there is nothing.
std::string path_kind(const std::string& path);
// The entries of a folder, sorted, without "." and ".."; empty when it does not exist.
std::vector<std::string> folder_entries(const std::string& path);
std::string read_text(const std::string& path);
// "<folder>/…", through no symlink below the folder.
std::string read_text_beneath(const std::string& folder, const std::string& path);
// Writes a temporary file next to it, syncs it, renames it to the path and syncs the folder.
void replace_text(const std::string& path, std::string_view text);

// Absolute, without "." and "..", "~" replaced by the user's home folder. Symlinks stay.
std::string absolute_path(const std::string& path);

}  // namespace rtrain
