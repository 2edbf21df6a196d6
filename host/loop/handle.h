// host/loop/handle.h: owns one libuv handle. It is closed when its owner is destroyed, and freed in
// libuv's close callback.
//
// The callback is kept next to the handle, so an owner may close it from inside the callback.
#pragma once

#include <functional>

#include "host/loop/loop.h"

namespace rtrain::loop {

template <class Uv, class... Args>
class Handle {
 public:
  using Callback = std::function<void(Args...)>;

  Handle(Loop& loop, Callback callback) : box_(new Box{{}, &loop, std::move(callback)}) {
    box_->uv.data = box_;
  }
  ~Handle() { close(); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  Uv* get() { return &box_->uv; }
  bool is_open() const { return box_ != nullptr; }

  // After this the callback is not called any more. Calling it again does nothing.
  void close() {
    if (box_ == nullptr) return;
    uv_close(reinterpret_cast<uv_handle_t*>(&box_->uv),
             [](uv_handle_t* handle) { delete static_cast<Box*>(handle->data); });
    box_ = nullptr;
  }

  // libuv's C callback calls this.
  static void call(Uv* uv, Args... args) {
    auto* box = static_cast<Box*>(uv->data);
    box->loop->guard([&] { box->callback(args...); });
  }

 private:
  struct Box {
    Uv uv;
    Loop* loop;
    Callback callback;
  };
  Box* box_;
};

}  // namespace rtrain::loop
