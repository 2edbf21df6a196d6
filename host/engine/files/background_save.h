// host/engine/files/background_save.h: a `.pt` file that is written while training continues.
//
// start() copies the value's bytes and returns; one thread writes them to the file as save_archive
// does. The copy lies in memory that is kept for the next save: a fresh 400 MB takes as long to get
// from the kernel as to fill. At most one save is under way; start() waits for the one before.
// Threads: one owner. The saves themselves may be waited for by any thread.
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

namespace rtrain {

// One save: under way, done or failed.
class BackgroundSave {
 public:
  explicit BackgroundSave(std::string path) : path_(std::move(path)) {}

  const std::string& path() const { return path_; }
  bool is_done() const;
  // Waits; throws what the writing threw, or kTimeout.
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
  explicit BackgroundSaver(const HostApi& host) : host_(host) {}
  // Waits for the save that is under way.
  ~BackgroundSaver();
  BackgroundSaver(const BackgroundSaver&) = delete;
  BackgroundSaver& operator=(const BackgroundSaver&) = delete;

  // Errors of the value are thrown here as by save_archive; those of the file come with the save.
  std::shared_ptr<BackgroundSave> start(const Tree& tree, const std::string& path);

 private:
  void join();
  void write(const Pickle& content, BackgroundSave& save);

  const HostApi& host_;
  SnapshotMemory memory_;
  std::thread writer_;
};

}  // namespace rtrain
