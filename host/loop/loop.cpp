#include "host/loop/loop.h"

#include <utility>

#include "host/base/error.h"
#include "host/base/text/text.h"

namespace rtrain::loop {

Loop::Loop() {
  if (const int status = uv_loop_init(&loop_); status != 0) {
    throw Error(Code::kEnvironment,
                cat("cannot create an event loop: ", std::string_view(uv_strerror(status))));
  }
  wake_.data = this;
  uv_async_init(&loop_, &wake_, [](uv_async_t* wake) {
    auto* self = static_cast<Loop*>(wake->data);
    self->guard([self] { self->run_tasks(); });
  });
}

Loop::~Loop() {
  tasks_.clear();  // the tasks may own handles on this loop
  uv_close(reinterpret_cast<uv_handle_t*>(&wake_), nullptr);
  uv_run(&loop_, UV_RUN_DEFAULT);
  uv_loop_close(&loop_);
}

void Loop::run() {
  uv_run(&loop_, UV_RUN_DEFAULT);
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void Loop::stop() { uv_stop(&loop_); }

void Loop::post(std::function<void()> task) {
  {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
  }
  uv_async_send(&wake_);
}

void Loop::run_tasks() {
  std::vector<std::function<void()>> tasks;
  {
    const std::lock_guard lock(mutex_);
    tasks.swap(tasks_);
  }
  for (auto& task : tasks) {
    guard(task);
    task = nullptr;
  }
}

void Loop::fail(std::exception_ptr failure) {
  if (!failure_) failure_ = std::move(failure);
  uv_stop(&loop_);
}

}  // namespace rtrain::loop
