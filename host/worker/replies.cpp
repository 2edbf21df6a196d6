#include "host/worker/replies.h"

#include "host/worker/controller_lost.h"

namespace rtrain {

void Replies::expect(const std::string& key) {
  const std::lock_guard lock(mutex_);
  answers_[key] = std::nullopt;
}

std::optional<Value> Replies::wait(const std::string& key, std::chrono::milliseconds timeout,
                                   const std::function<bool()>& moves) {
  std::unique_lock lock(mutex_);
  const auto is_over = [&] { return closed_ || answers_[key].has_value(); };
  while (!idle_.wait_for(changed_, lock, timeout, is_over) && moves()) {
  }
  std::optional<Answer> answer = std::move(answers_[key]);
  answers_.erase(key);
  if (!answer && closed_) throw controller_lost();
  if (!answer) return std::nullopt;
  if (answer->error) throw Error(*answer->error);
  return std::move(answer->value);
}

void Replies::set(const std::string& key, Value value, std::optional<Error> error) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = answers_.find(key);
    if (found == answers_.end()) return;
    found->second = Answer{std::move(value), std::move(error)};
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

}  // namespace rtrain
