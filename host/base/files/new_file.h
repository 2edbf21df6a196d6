// host/base/files/new_file.h: a file that appears under its name complete or not at all.
//
// It is written next to the target, synced, and renamed over it at commit(); without commit() it is
// removed and an older target stays as it was. A symlink stays one: what it names is replaced.
// A device or a pipe (/dev/stdout) cannot be replaced, and is written to.
#pragma once

#include <cstddef>
#include <string>

namespace rtrain {

class NewFile {
 public:
  enum class Durability {
    kSynced,
    kUnsynced,  // a temporary file: after a power loss nobody asks for it
  };

  enum class Readers {
    kByUmask,
    kUserAlone,  // 0600, and never through a file that somebody else has made
  };

  // Throws Error(kEnvironment) with the target and the system's reason.
  explicit NewFile(std::string target, Readers readers = Readers::kByUmask);
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  // A failed write is kept for commit(), for callers that may not be interrupted.
  void write(const void* data, size_t size) noexcept;

  // The system's number of the first write that failed; 0 while all went well.
  int error() const { return error_; }

  // Throws Error(kEnvironment) when anything failed up to here. The folder is not synced: after a
  // power loss the target may be the older file, never a part of the new one.
  void commit(Durability durability = Durability::kSynced);

 private:
  [[noreturn]] void fail(int reason) const;

  std::string target_;
  std::string path_;  // the target's where that is a device or a pipe
  int fd_ = -1;
  int error_ = 0;
};

}  // namespace rtrain
