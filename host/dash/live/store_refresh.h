// host/dash/live/store_refresh.h: copies snapshots of runs from an object store into the local
// folder that mirrors it, as long as this object exists.
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
  // Does nothing for a folder that does not mirror an object store. The constructor looks for the
  // first time, and throws if the store does not answer. on_problem is called on the thread that
  // looks: once for each reason why it cannot look, or cannot read a run's data, until it can
  // again.
  StoreRefresh(std::string storage_path, std::function<void(const std::string& text)> on_problem);
  // Waits for a request in progress.
  ~StoreRefresh();
  StoreRefresh(const StoreRefresh&) = delete;
  StoreRefresh& operator=(const StoreRefresh&) = delete;

  // Runs that could not be updated, because their data in the object store cannot be read: why. Any
  // thread.
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
