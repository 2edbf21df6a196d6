// host/store/files/patience.h: how long a run waits for its store: for space on a full disk or for
// another program's lock.
//
// Copies share one timer, so that one outage is waited for once. One thread.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <type_traits>

#include "host/store/files/storage_error.h"

namespace rtrain::store {

// RTRAIN_STORE_PATIENCE_S from the environment (0: no waiting), else 60 s. Throws Error(kConfig) if
// it is not a number of seconds.
std::chrono::milliseconds store_patience();

class Patience {
 public:
  using OnWaiting = std::function<void(const Error& error)>;

  Patience();
  // Sets a function that is called at the first failure of each outage, before the wait.
  void set_on_waiting(OnWaiting on_waiting);

  // Repeats `work` until it succeeds. Rethrows its error at once if waiting cannot help
  // (StorageError::may_pass), else when nothing has succeeded for store_patience().
  template <class Work>
  auto operator()(Work work) const {
    while (true) {
      try {
        return ended(work);
      } catch (const StorageError& e) {
        if (!wait_after(e)) throw;
      }
    }
  }

 private:
  struct State;
  template <class Work>
  auto ended(Work& work) const {
    if constexpr (std::is_void_v<std::invoke_result_t<Work&>>) {
      work();
      end_outage();
    } else {
      auto result = work();
      end_outage();
      return result;
    }
  }
  void end_outage() const;
  bool wait_after(const StorageError& error) const;

  std::shared_ptr<State> state_;
};

}  // namespace rtrain::store
