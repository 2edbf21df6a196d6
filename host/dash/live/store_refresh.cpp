#include "host/dash/live/store_refresh.h"

#include <pthread.h>

#include <chrono>
#include <utility>

#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/store/checkpoints/object_storage.h"

namespace rtrain::dash {
namespace {

// A pause, because each look lists all runs of the object store.
constexpr std::chrono::seconds kBetweenLooks{5};

}  // namespace

StoreRefresh::StoreRefresh(std::string storage_path,
                           std::function<void(const std::string& text)> on_problem)
    : storage_path_(std::move(storage_path)), on_problem_(std::move(on_problem)) {
  if (!store::ObjectStorage::of(storage_path_)) return;
  look();
  thread_ = std::thread([this] { run(); });
}

StoreRefresh::~StoreRefresh() {
  if (!thread_.joinable()) return;
  {
    const std::scoped_lock lock(mutex_);
    is_ending_ = true;
  }
  ended_.notify_all();
  thread_.join();
}

bool StoreRefresh::wait() {
  std::unique_lock lock(mutex_);
  return !ended_.wait_for(lock, kBetweenLooks, [this] { return is_ending_; });
}

std::map<std::string, std::string> StoreRefresh::problems() const {
  const std::scoped_lock lock(mutex_);
  return problems_;
}

void StoreRefresh::run() {
  pthread_setname_np(pthread_self(), "rtrain-refresh");
  while (wait()) try_look();
}

void StoreRefresh::try_look() {
  std::string problem;
  try {
    look();
  } catch (const std::exception& e) {
    problem = e.what();
  }
  if (problem != problem_ && !problem.empty()) {
    on_problem_(cat("the store is shown as it was: ", problem));
  }
  problem_ = std::move(problem);
}

void StoreRefresh::look() {
  const auto objects = store::ObjectStorage::of(storage_path_);
  if (!objects) return;
  std::map<std::string, std::string> problems = objects->refresh_all();
  for (const auto& [run, problem] : problems) {
    const auto known = problems_.find(run);
    if (known != problems_.end() && known->second == problem) continue;
    on_problem_(cat("the run '", run, "' is shown as it was: ", problem));
  }
  const std::scoped_lock lock(mutex_);
  problems_ = std::move(problems);
}

}  // namespace rtrain::dash
