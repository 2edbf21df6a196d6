#include "host/engine/distributed/shm/queue.h"

#include <pthread.h>

#include "host/base/error.h"

namespace rtrain::engine {

ShmWork::ShmWork(c10d::OpType type, const std::vector<at::Tensor>& results)
    : Work(-1, type),
      results_(results),
      future_(
          c10::make_intrusive<c10::ivalue::Future>(c10::ListType::create(c10::TensorType::get()))) {
}

void ShmWork::end(std::exception_ptr failure) {
  if (failure == nullptr) {
    future_->markCompleted(c10::IValue(results_));
  } else {
    future_->setErrorIfNeeded(failure);
  }
  finish(std::move(failure));
}

ShmQueue::~ShmQueue() {
  std::deque<std::pair<c10::intrusive_ptr<ShmWork>, Body>> rest;
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
    rest.swap(items_);
  }
  changed_.notify_all();
  const auto closed =
      std::make_exception_ptr(Error(Code::kArgument, "the process group was destroyed"));
  for (const auto& each : rest) each.first->end(closed);
  if (thread_.joinable()) thread_.join();
}

c10::intrusive_ptr<c10d::Work> ShmQueue::run(c10d::OpType type,
                                             const std::vector<at::Tensor>& results, bool waits,
                                             Body body) {
  auto item = c10::make_intrusive<ShmWork>(type, results);
  std::unique_lock lock(mutex_);
  if (!waits) {
    items_.emplace_back(item, std::move(body));
    if (!thread_.joinable()) thread_ = std::thread([this] { serve(); });
    lock.unlock();
    changed_.notify_all();
    return item;
  }
  changed_.wait(lock, [&] { return !is_busy_ && items_.empty(); });
  is_busy_ = true;
  lock.unlock();
  run_body(body);
  lock.lock();
  is_busy_ = false;
  const std::exception_ptr failure = failure_;
  lock.unlock();
  changed_.notify_all();
  if (failure != nullptr) std::rethrow_exception(failure);
  item->end(nullptr);
  return item;
}

// REQUIRES: the caller has set is_busy_.
void ShmQueue::run_body(const Body& body) {
  if (failure_ != nullptr) return;
  try {
    body();
  } catch (const std::exception&) {
    failure_ = std::current_exception();
  }
}

void ShmQueue::serve() {
  pthread_setname_np(pthread_self(), "rtrain-shm");
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return is_ending_ || (!is_busy_ && !items_.empty()); });
    if (is_ending_) return;
    auto [item, body] = std::move(items_.front());
    items_.pop_front();
    is_busy_ = true;
    lock.unlock();
    run_body(body);
    body = nullptr;
    item->end(failure_);
    lock.lock();
    is_busy_ = false;
    changed_.notify_all();
  }
}

}  // namespace rtrain::engine
