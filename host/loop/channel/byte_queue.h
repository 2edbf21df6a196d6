// host/loop/channel/byte_queue.h: a queue of bytes, added at the end and removed at the front. Each
// byte is moved a constant number of times on average. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace rtrain::loop {

class ByteQueue {
 public:
  void add(std::string_view bytes) { buffer_.append(bytes); }
  // Valid until the next call of another function.
  std::string_view bytes() const { return std::string_view(buffer_).substr(begin_); }
  bool empty() const { return begin_ == buffer_.size(); }
  void clear() {
    buffer_.clear();
    begin_ = 0;
  }
  // REQUIRES: the queue has that many bytes.
  void del(size_t count) {
    begin_ += count;
    if (begin_ < buffer_.size() / 2) return;
    buffer_.erase(0, begin_);
    begin_ = 0;
  }

 private:
  std::string buffer_;
  size_t begin_ = 0;  // bytes before it are removed
};

}  // namespace rtrain::loop
