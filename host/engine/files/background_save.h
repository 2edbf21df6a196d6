// host/engine/files/background_save.h: writes a file while training continues.
//
// start() copies the content's bytes and returns; a thread then writes them. The memory of the
// copy is kept for the next save, because getting a fresh 400 MB from the kernel takes as long as
// filling it. At most one save runs at a time; start() waits for the previous one.
// Threads: one owner. Any thread may wait for a save.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "host/api/host_api.h"
#include "host/base/error.h"
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

// What a save writes.
struct BackgroundContent {
  std::vector<c10::Storage> storages;
  // Writes the file, with the copies in the place of the storages. Runs in the thread.
  std::function<void(std::vector<c10::Storage> copies, const std::string& path)> write;
};

class BackgroundSaver {
 public:
  explicit BackgroundSaver(const api::HostApi& host) : host_(host) {}
  // Waits for the running save.
  ~BackgroundSaver();
  BackgroundSaver(const BackgroundSaver&) = delete;
  BackgroundSaver& operator=(const BackgroundSaver&) = delete;

  // Throws kOutOfMemory if there is no memory for the copies. Errors of the file are thrown by the
  // save's wait().
  std::shared_ptr<BackgroundSave> start(BackgroundContent content, const std::string& path);

 private:
  void join();
  void write(BackgroundContent content, BackgroundSave& save);

  const api::HostApi& host_;
  SnapshotMemory memory_;
  std::thread writer_;
};

}  // namespace rtrain::engine
