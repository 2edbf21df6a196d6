#include "host/store/files/patience.h"

#include <algorithm>
#include <optional>
#include <thread>
#include <utility>

#include "host/base/clock.h"
#include "host/base/seconds_setting.h"

namespace rtrain::store {

std::chrono::milliseconds store_patience() {
  constexpr double kDefaultS = 60;
  constexpr double kMostS = 1e6;  // SQLite counts milliseconds in an int
  return to_ms(std::min(
      seconds_setting("RTRAIN_STORE_PATIENCE_S", kDefaultS, ZeroSeconds::kAllowed), kMostS));
}

struct Patience::State {
  double limit_s = 0;
  OnWaiting on_waiting;
  std::optional<double> failing_since_s;
};

Patience::Patience() : state_(std::make_shared<State>()) {
  state_->limit_s = std::chrono::duration<double>(store_patience()).count();
}

void Patience::set_on_waiting(OnWaiting on_waiting) { state_->on_waiting = std::move(on_waiting); }

void Patience::end_outage() const { state_->failing_since_s.reset(); }

// Returns false once the time is used up.
bool Patience::wait_after(const StorageError& error) const {
  constexpr std::chrono::milliseconds kPause{200};
  State& state = *state_;
  if (!error.may_pass()) return false;
  const double now = monotonic_s();
  const bool is_first = !state.failing_since_s;
  if (is_first) state.failing_since_s = now;
  if (now >= *state.failing_since_s + state.limit_s) return false;
  if (is_first && state.on_waiting) state.on_waiting(error);
  std::this_thread::sleep_for(kPause);
  return true;
}

}  // namespace rtrain::store
