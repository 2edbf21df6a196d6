// host/machine/processes/open_files.h: descriptors of this process that are kept for one user.
#pragma once

namespace rtrain::machine {

// While it lives, this process may open `count` files in addition to those of other reserves and to
// those that were open when the last reserve was made: the soft limit is raised if it is too low.
// Any thread.
class FileReserve {
 public:
  // Throws Error(kEnvironment), with both numbers, if the hard limit does not allow it.
  explicit FileReserve(int count);
  ~FileReserve();
  FileReserve(const FileReserve&) = delete;
  FileReserve& operator=(const FileReserve&) = delete;

 private:
  int count_;
};

}  // namespace rtrain::machine
