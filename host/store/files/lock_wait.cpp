#include "host/store/files/lock_wait.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <thread>

#include "host/base/clock.h"
#include "host/base/text/text.h"
#include "host/store/files/file.h"

namespace rtrain::store {
namespace {

constexpr double kReadersPatienceS = 5;

}  // namespace

LockWait::LockWait(std::string path) : path_(std::move(path)), limit_s_(kReadersPatienceS) {}

int LockWait::on_busy(void* wait, int calls) {
  return static_cast<LockWait*>(wait)->go_on(calls) ? 1 : 0;
}

bool LockWait::is_of_use() const {
  const std::string folder = std::filesystem::path(path_).parent_path();
  return !path_exists(folder) || has_locks(folder);
}

bool LockWait::go_on(int calls) {
  constexpr double kNotifiedAfterS = 1;
  constexpr int kMostPauseMs = 100;
  const double now = monotonic_s();
  if (calls == 0) {
    since_s_ = now;
    is_notified_ = false;
    if (!is_of_use()) return false;
  }
  if (now - since_s_ >= limit_s_) return false;
  if (on_locked_ && !is_notified_ && now - since_s_ >= kNotifiedAfterS) {
    is_notified_ = true;
    on_locked_(cat("waiting for the store ", path_,
                   ", which another process has locked, for up to ", limit_s_,
                   " s (RTRAIN_STORE_PATIENCE_S)"));
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(std::min(kMostPauseMs, calls + 1)));
  return true;
}

}  // namespace rtrain::store
