// host/store/files/lock_wait.h: the wait for another program's lock on a database, of one statement
// at a time.
#pragma once

#include <functional>
#include <string>
#include <utility>

namespace rtrain {

class LockWait {
 public:
  // Called with a line for people when the wait has lasted a second.
  using OnLocked = std::function<void(const std::string& text)>;

  // Waits as a reader does, for a few seconds.
  explicit LockWait(std::string path);

  // SQLite's busy handler; `wait` is a LockWait. 0 gives up.
  static int on_busy(void* wait, int calls);

  // False where a lock cannot be had at all: the file system has none.
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

}  // namespace rtrain
