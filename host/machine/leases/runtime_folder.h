// host/machine/leases/runtime_folder.h: the user's folder for files of running processes of this
// node: sockets of controllers, leases of cores.
#pragma once

#include <sys/types.h>

#include <string>

namespace rtrain::machine {

// Returns $RTRAIN_RUNTIME_DIR, else /tmp/rtrain-UID, and makes it with mode 0700 if it does not
// exist. It does not depend on the login session: a session's folder is removed at its end, while
// runs continue. Throws Error(kEnvironment) when it cannot be made, is a symbolic link, belongs to
// another user or is open to others.
std::string runtime_folder();

// Remembers the folder as it is now, to find out later whether it is still the same. Any thread.
class RuntimeFolderMark {
 public:
  // Throws as runtime_folder().
  RuntimeFolderMark();

  const std::string& path() const { return path_; }
  // Whether the folder was removed, or another one has its name now.
  bool is_gone() const;
  // Sets the times of all its files to now, because programs that clean /tmp remove old files.
  void touch_files() const;

 private:
  std::string path_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

}  // namespace rtrain::machine
