// host/store/files/file.h: file system calls whose errors name the path and the reason.
//
// A failed system call becomes Error(kEnvironment, "cannot write /runs/x/lock: No space left on
// device"). For a full disk StorageError::may_pass is true.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "host/store/files/storage_error.h"

namespace rtrain::store {

// "cannot <action> <path>: <reason of errno>", with the errno of the last call.
StorageError file_error(std::string_view action, const std::string& path);
StorageError file_error(std::string_view action, const std::string& path, int error_number);
// Whether the error means that the file system has no locks, such as NFS without its lock daemon.
bool is_without_locks(int error_number);
// Whether the folder's file system has locks. Opens no file in the folder, because closing one
// would release this process's locks on it.
bool has_locks(const std::string& folder);
Error no_locks_error(const std::string& path);

// Identifies the file that a path names; false if there is none.
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
  // Opens with O_CLOEXEC. Throws kEnvironment, also for anything other than a file or a folder (a
  // FIFO would block). A new file gets the permissions of host/base/files/store_access.h.
  OpenFile(const std::string& path, int flags);
  // The same for "<folder>/…" if others may write into the folder: follows no symlink below it
  // (open_beneath).
  OpenFile(const std::string& folder, const std::string& path, int flags);
  OpenFile(OpenFile&& other) noexcept;
  OpenFile& operator=(OpenFile&& other) noexcept;
  ~OpenFile();

  int fd() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  const std::string& path() const { return path_; }

  // Whether the path still names this file.
  bool is_at_its_path() const;

  void write(std::string_view bytes);
  // Throws kEnvironment. After a failed fsync a second one may report success without having
  // written.
  void sync_data();

 private:
  void check(int flags);

  int fd_ = -1;
  std::string path_;
};

// Creates the folder, with the permissions of host/base/files/store_access.h. Returns false if the
// name exists.
bool make_folder(const std::string& path);
// Creates the folder if it does not exist, and syncs its parent, which must exist.
void ensure_folder(const std::string& path);
// The same including missing parents; syncs each parent that got a new entry.
void make_folders(const std::string& path);
void sync_folder(const std::string& path);
// fsyncs the folder and all folders below it, deepest first.
void sync_folder_tree(const std::string& path);

// Removes the file, or the folder with everything below. Returns false if a part could not be
// removed; never throws.
bool remove_tree(const std::string& path) noexcept;

// Bytes of a file, or of all files of a folder, without those removed meanwhile.
int64_t folder_size(const std::string& path);
// Size and time of the last change of a file, which a changed file has not again; "" without one.
std::string file_stamp(const std::string& path);

bool path_exists(const std::string& path);
bool is_symlink(const std::string& path);
// "file", "folder" or "other" (a pipe, a device), following symlinks; "" if it does not exist.
std::string path_kind(const std::string& path);
// The entries of a folder, sorted, without "." and ".."; empty when it does not exist.
std::vector<std::string> folder_entries(const std::string& path);
std::string read_text(const std::string& path);
// Reads "<folder>/…" without following symlinks below the folder.
std::string read_text_beneath(const std::string& folder, const std::string& path);
// Writes a temporary file next to the path, syncs it, renames it to the path and syncs the folder.
void replace_text(const std::string& path, std::string_view text);

// Makes the path absolute, without "." and "..", and expands "~". Symlinks are not resolved.
std::string absolute_path(const std::string& path);

}  // namespace rtrain::store
