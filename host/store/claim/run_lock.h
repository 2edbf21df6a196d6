// host/store/claim/run_lock.h: ownership of a run: an open-file-description lock on <run>/lock,
// held for the controller's life.
//
// The kernel releases it with the last descriptor, however the process ends. The owner's name in
// the file is only for messages.
#pragma once

#include <optional>
#include <string>

#include "host/store/claim/run_owner.h"
#include "host/store/files/file.h"

namespace rtrain::store {

class RunLock {
 public:
  // Takes the lock of the run's folder without waiting; nullopt if another process has it.
  static std::optional<RunLock> try_take(const std::string& run_path);
  // True while a process owns the run.
  static bool is_held(const std::string& run_path);
  // The process that took the lock last.
  static RunOwner owner(const std::string& run_path);

  // For a run that did not begin. A process that waits for the lock notices that the file was
  // removed.
  void remove_file() const;

 private:
  explicit RunLock(OpenFile file) : file_(std::move(file)) {}
  OpenFile file_;
};

}  // namespace rtrain::store
