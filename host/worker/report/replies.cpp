#include "host/worker/report/replies.h"

#include "host/worker/report/controller_lost.h"

namespace rtrain::worker {

void Replies::expect(const std::string& key) {
  const std::lock_guard lock(mutex_);
  waits_[key] = {};
}

void Replies::expect_lasting(const std::string& key) {
  const std::lock_guard lock(mutex_);
  waits_[key] = {.answer = std::nullopt, .lasts = true};
}

std::optional<Value> Replies::wait(const std::string& key, std::chrono::milliseconds timeout,
                                   const std::function<bool()>& moves) {
  std::unique_lock lock(mutex_);
  const auto is_interrupted = [&] { return interruption_ && !waits_[key].lasts; };
  const auto is_over = [&] {
    return closed_ || waits_[key].answer.has_value() || is_interrupted();
  };
  while (!idle_.wait_for(changed_, lock, timeout, is_over) && moves()) {
  }
  const bool was_interrupted = is_interrupted();
  std::optional<Answer> answer = std::move(waits_[key].answer);
  waits_.erase(key);
  if (!answer && closed_) throw controller_lost();
  if (!answer && was_interrupted) throw Error(*interruption_);
  if (!answer) return std::nullopt;
  if (answer->error) throw Error(*answer->error);
  return std::move(answer->value);
}

void Replies::interrupt(const Error& error) {
  {
    const std::lock_guard lock(mutex_);
    interruption_ = error;
  }
  changed_.notify_all();
}

void Replies::resume() {
  const std::lock_guard lock(mutex_);
  interruption_.reset();
}

void Replies::set(const std::string& key, Value value, std::optional<Error> error) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = waits_.find(key);
    if (found == waits_.end()) return;
    found->second.answer = Answer{std::move(value), std::move(error)};
  }
  changed_.notify_all();
}

void Replies::close() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  changed_.notify_all();
}

}  // namespace rtrain::worker
