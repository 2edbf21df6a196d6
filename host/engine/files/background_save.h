// host/engine/files/background_save.h: writes a `.pt` file while training continues.
//
// start() copies the value's bytes and returns; a thread then writes them like save_archive. The
// memory of the copy is kept for the next save, because getting a fresh 400 MB from the kernel
// takes as long as filling it. At most one save runs at a time; start() waits for the previous one.
// Threads: one owner. Any thread may wait for a save.
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "host/api/host_api.h"
#include "host/base/error.h"
#include "host/engine/files/archive.h"
#include "host/engine/files/pickle_writer.h"
#include "host/engine/files/snapshot_memory.h"

namespace rtrain::engine {

// One save: running, done or failed.
class BackgroundSave {
 public:
  explicit BackgroundSave(std::string path) : path_(std::move(path)) {}

  const std::string& path() const { return path_; }
  bool is_done() const;
  // Waits for the save. Throws its error, or kTimeout.
  void wait(std::chrono::milliseconds timeout) const;

 private:
  friend class BackgroundSaver;
  void finish(std::optional<Error> error);

  const std::string path_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  bool done_ = false;
  std::optional<Error> error_;
};

class BackgroundSaver {
 public:
  explicit BackgroundSaver(const api::HostApi& host) : host_(host) {}
  // Waits for the running save.
  ~BackgroundSaver();
  BackgroundSaver(const BackgroundSaver&) = delete;
  BackgroundSaver& operator=(const BackgroundSaver&) = delete;

  // Throws errors of the value, like save_archive. Errors of the file are thrown by the save's
  // wait().
  std::shared_ptr<BackgroundSave> start(const Tree& tree, const std::string& path);

 private:
  void join();
  void write(const Pickle& content, BackgroundSave& save);

  const api::HostApi& host_;
  SnapshotMemory memory_;
  std::thread writer_;
};

}  // namespace rtrain::engine
