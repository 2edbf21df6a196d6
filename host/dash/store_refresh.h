// host/dash/store_refresh.h: keeps the folder that stands for an object store as new as the
// snapshots of runs there, as long as it lives.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>

namespace rtrain::dash {

class StoreRefresh {
 public:
  // Nothing happens for a folder that stands for itself. The first look is made here, and throws
  // where the store does not answer. on_problem is called on the thread that looks: once for each
  // reason why it cannot look, or cannot read what the store has of a run, until it can again.
  StoreRefresh(std::string storage_path, std::function<void(const std::string& text)> on_problem);
  // Waits for a request under way.
  ~StoreRefresh();
  StoreRefresh(const StoreRefresh&) = delete;
  StoreRefresh& operator=(const StoreRefresh&) = delete;

  // Runs that are as they were, since what the store has of them cannot be read: why. Any thread.
  std::map<std::string, std::string> problems() const;

 private:
  void run();
  void look();
  void try_look();
  bool wait();

  std::string storage_path_;
  std::function<void(const std::string& text)> on_problem_;
  std::string problem_;
  mutable std::mutex mutex_;
  std::map<std::string, std::string> problems_;  // by run
  std::condition_variable ended_;
  bool is_ending_ = false;
  std::thread thread_;
};

}  // namespace rtrain::dash
