// host/machine/leases/runtime_folder.h: the user's folder for what belongs to running processes of
// this node: sockets of controllers, leases of cores.
#pragma once

#include <sys/types.h>

#include <string>

namespace rtrain::machine {

// $RTRAIN_RUNTIME_DIR, else /tmp/rtrain-<uid>; made with mode 0700 where missing. It does not
// depend on the login session: a session's folder is removed at its end, while runs continue.
// Throws kEnvironment when it cannot be made, is a symbolic link, belongs to another user or is
// open to others.
std::string runtime_folder();

// The folder as it is now: to see later whether it is still the same one. Any thread.
class RuntimeFolderMark {
 public:
  // Throws as runtime_folder().
  RuntimeFolderMark();

  const std::string& path() const { return path_; }
  // Whether it was removed, or another one has its name.
  bool is_gone() const;
  // Sets the times of everything in it to now: programs that clean /tmp remove files that are old.
  void touch_files() const;

 private:
  std::string path_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

}  // namespace rtrain::machine
