// host/base/files/new_file.h: a file that appears under its name complete or not at all.
//
// Writes a file next to the target, syncs it and renames it to the target at commit(). Without
// commit() the file is removed and an older target stays unchanged. If the target is a symlink, the
// file that it points to is replaced. A device or a pipe (/dev/stdout) cannot be replaced, so it is
// written directly.
#pragma once

#include <cstddef>
#include <string>

namespace rtrain {

class NewFile {
 public:
  enum class Durability {
    kSynced,
    kUnsynced,  // for temporary files, which are not needed after a power failure
  };

  enum class Readers {
    kByUmask,
    kUserAlone,  // mode 0600, and never a file that someone else has created
  };

  // Throws Error(kEnvironment) with the target and the reason.
  explicit NewFile(std::string target, Readers readers = Readers::kByUmask);
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  // Stores a write error for commit(), for callers that must not be interrupted.
  void write(const void* data, size_t size) noexcept;

  // errno of the first failed write; 0 if none failed.
  int error() const { return error_; }

  // Throws Error(kEnvironment) if anything has failed. Does not sync the folder: after a power
  // failure the target may be the older file, but never a part of the new one.
  void commit(Durability durability = Durability::kSynced);

 private:
  [[noreturn]] void fail(int reason) const;

  std::string target_;
  std::string path_;  // the target itself if that is a device or a pipe
  int fd_ = -1;
  int error_ = 0;
};

}  // namespace rtrain
