#include "host/track/follower.h"

#include <pthread.h>

#include <algorithm>
#include <utility>

#include "host/base/background_thread.h"
#include "host/base/error.h"
#include "host/track/run_sender.h"

namespace rtrain::track {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kPoll{1000};
constexpr milliseconds kEndPoll{50};  // until the run's end is in the store
constexpr milliseconds kLongestPause{30'000};

}  // namespace

Follower::Follower(std::string storage, std::string run, Value options)
    : storage_(std::move(storage)), run_(std::move(run)), options_(std::move(options)) {
  thread_ = std::thread([this] { follow(); });
  pthread_setname_np(thread_.native_handle(), "rtrain-tracker");
}

Follower::~Follower() {
  {
    const std::lock_guard lock(mutex_);
    is_leaving_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

std::optional<std::string> Follower::problem() {
  const std::lock_guard lock(mutex_);
  return std::exchange(problem_, std::nullopt);
}

bool Follower::finish(milliseconds timeout) {
  std::unique_lock lock(mutex_);
  is_finishing_ = true;
  changed_.notify_all();
  changed_.wait_for(lock, timeout, [this] { return is_done_; });
  return is_done_;
}

void Follower::note(const std::string& problem) {
  const std::lock_guard lock(mutex_);
  if (!problem_) problem_ = problem;
}

// Returns false if the thread must end.
bool Follower::pause(milliseconds time) {
  std::unique_lock lock(mutex_);
  const bool was_finishing = is_finishing_;
  changed_.wait_for(lock, time, [&] { return is_leaving_ || is_finishing_ != was_finishing; });
  return !is_leaving_;
}

void Follower::follow() {
  enter_background();
  std::optional<RunSender> sender;
  milliseconds wait = kPoll;
  int64_t refused = 0;
  do {
    try {
      if (!sender) sender.emplace(storage_, run_, options_);
      while (sender->send_next()) {
        if (!pause(milliseconds(0))) return;
      }
      wait = kPoll;
      if (sender->refused() > refused) note(sender->refusal());
      refused = sender->refused();
      bool is_finishing = false;
      {
        const std::lock_guard lock(mutex_);
        is_finishing = is_finishing_;
      }
      if (!is_finishing) continue;
      wait = kEndPoll;
      if (!sender->end()) continue;
      const std::lock_guard lock(mutex_);
      is_done_ = true;
      changed_.notify_all();
      return;
    } catch (const std::exception& caught) {
      note(error_of(caught).message());
      wait = std::min(2 * wait, kLongestPause);
    }
  } while (pause(wait));
}

}  // namespace rtrain::track
