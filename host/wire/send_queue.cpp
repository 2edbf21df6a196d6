#include "host/wire/send_queue.h"

#include "host/base/error.h"
#include "host/base/random.h"
#include "host/wire/wire_frame.h"

namespace rtrain {

SendQueue::SendQueue(size_t memory_bytes) : memory_bytes_(memory_bytes), stream_(random_hex(16)) {}

void SendQueue::add(std::string_view payload) {
  std::string frame;
  WireFrame{.type = WireType::kData, .number = last() + 1, .payload = payload}.add_to(frame);
  bytes_ += frame.size();
  frames_.push_back(std::move(frame));
}

void SendQueue::acknowledge(uint64_t sequence) {
  RT_CHECK(sequence + 1 >= first_ && sequence <= last());
  while (first_ <= sequence) {
    bytes_ -= frames_.front().size();
    frames_.pop_front();
    ++first_;
  }
  if (next_ < first_) next_ = first_;
}

const std::string* SendQueue::next() const {
  return next_ > last() ? nullptr : &frames_[next_ - first_];
}

}  // namespace rtrain
