// host/store/files/lock_wait.h: how a statement waits for another program's lock on a
// database.
#pragma once

#include <functional>
#include <string>
#include <utility>

namespace rtrain::store {

class LockWait {
 public:
  // Called with a line for people when the wait has lasted a second.
  using OnLocked = std::function<void(const std::string& text)>;

  // Waits as readers do, for a few seconds.
  explicit LockWait(std::string path);

  // SQLite's busy handler; `wait` is a LockWait. Returns 0 to stop waiting.
  static int on_busy(void* wait, int calls);

  // Returns false if waiting is pointless, because the file system has no locks.
  bool is_of_use() const;

  double limit_s() const { return limit_s_; }
  void set_limit_s(double limit_s) { limit_s_ = limit_s; }
  const OnLocked& on_locked() const { return on_locked_; }
  void set_on_locked(OnLocked on_locked) { on_locked_ = std::move(on_locked); }

 private:
  bool go_on(int calls);

  std::string path_;
  double limit_s_;
  OnLocked on_locked_;
  double since_s_ = 0;
  bool is_notified_ = false;
};

}  // namespace rtrain::store
