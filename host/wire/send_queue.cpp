#include "host/wire/send_queue.h"

#include <algorithm>
#include <utility>

#include "host/base/error.h"
#include "host/base/random.h"
#include "host/base/text/text.h"
#include "host/wire/wire_frame.h"

namespace rtrain::wire {
namespace {

constexpr int kStreamDigits = 16;

}  // namespace

SendQueue::SendQueue(size_t memory_bytes, std::function<void()> on_change)
    : memory_bytes_(memory_bytes),
      on_change_(std::move(on_change)),
      stream_(random_hex(kStreamDigits)) {}

void SendQueue::check_size(std::string_view payload) {
  if (payload.size() <= kMaxPayloadBytes) return;
  throw Error(Code::kArgument, cat("a frame of ", payload.size(), " bytes is above the limit of ",
                                   kMaxPayloadBytes, " bytes"));
}

void SendQueue::add(std::string_view payload) {
  check_size(payload);
  std::string frame;
  frame.reserve(kWireOverheadBytes + payload.size());
  WireFrame{.type = WireType::kData, .number = last() + 1, .payload = payload}.add_to(frame);
  bytes_ += frame.size();
  frames_.push_back(std::move(frame));
  update_full();
}

void SendQueue::acknowledge(uint64_t sequence) {
  RT_CHECK(sequence + 1 >= first_ && sequence <= last());
  for (; first_ <= sequence; ++first_) {
    bytes_ -= frames_.front().size();
    frames_.pop_front();
  }
  next_ = std::max(next_, first_);
  update_full();
}

const std::string* SendQueue::next() const {
  return has_unsent() ? &frames_[next_ - first_] : nullptr;
}

void SendQueue::update_full() {
  const bool was_full = is_full();
  const size_t bound = was_full ? memory_bytes_ - memory_bytes_ / 4 : memory_bytes_;
  full_reason_ = bytes_ > bound ? cat("the link holds ", bytes_, " bytes in memory") : "";
  if (is_full() != was_full) on_change_();
}

}  // namespace rtrain::wire
