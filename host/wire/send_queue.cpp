#include "host/wire/send_queue.h"

#include <algorithm>

#include "host/base/error.h"
#include "host/base/random.h"
#include "host/base/text.h"
#include "host/wire/wire_frame.h"

namespace rtrain {
namespace {

constexpr int kStreamDigits = 16;
constexpr size_t kBytesALoad = size_t{1} << 20;
// A spool is removed file by file, so one file is a small part of it.
constexpr uint64_t kSegmentsOfSpool = 16;
constexpr uint64_t kMaxSegmentBytes = uint64_t{4} << 20;

}  // namespace

SendQueue::SendQueue(Loop& loop, SendQueueOptions options, std::function<void()> on_change)
    : loop_(loop),
      options_(std::move(options)),
      on_change_(std::move(on_change)),
      stream_(random_hex(kStreamDigits)) {
  if (options_.spool_folder.empty()) return;
  spool_ =
      std::make_unique<Spool>(options_.spool_folder, stream_,
                              std::min(kMaxSegmentBytes, options_.spool_bytes / kSegmentsOfSpool));
  first_ = next_ = spool_->first();
  spooled_ = spool_->last();
  sync_timer_.emplace(loop, [this] { on_sync_due(); });
  sync_thread_ = std::make_unique<TaskThread>("spool");
}

SendQueue::~SendQueue() {
  on_change_ = [] {};
  write();
  if (spool_ && is_empty()) spool_->clear();
}

std::vector<FormerStream> SendQueue::former() const {
  return spool_ ? spool_->former() : std::vector<FormerStream>();
}

void SendQueue::add(std::string_view payload) {
  if (payload.size() > kMaxPayloadBytes) {
    throw Error(Code::kArgument, cat("a frame of ", payload.size(), " bytes is above the limit of ",
                                     kMaxPayloadBytes, " bytes"));
  }
  std::string frame;
  frame.reserve(kWireOverheadBytes + payload.size());
  WireFrame{.type = WireType::kData, .number = last() + 1, .payload = payload}.add_to(frame);
  if (spool_) {
    unwritten_bytes_ += frame.size();
    unwritten_.push_back(std::move(frame));
    return;
  }
  bytes_ += frame.size();
  frames_.push_back(std::move(frame));
  ++spooled_;
  update_full();
}

void SendQueue::acknowledge(uint64_t sequence) {
  RT_CHECK(sequence + 1 >= first_ && sequence <= last());
  for (; first_ <= sequence && !frames_.empty(); ++first_) {
    bytes_ -= frames_.front().size();
    frames_.pop_front();
  }
  first_ = std::max(first_, std::min(sequence, spooled_) + 1);
  if (sequence > spooled_) take_unwritten(sequence - spooled_, [](std::string) {});
  first_ = std::max(first_, sequence + 1);
  next_ = std::max(next_, first_);
  if (spool_) {
    spool_->acknowledge(sequence);
    start_sync_timer();
  }
  update_full();
}

void SendQueue::write() {
  if (unwritten_.empty() || !spool_) return;
  if (spool_->size_bytes() + unwritten_bytes_ > options_.spool_bytes) return update_full();
  bool is_next_in_memory = in_memory() == spooled_;
  const size_t num_written = spool_->append(unwritten_);
  write_failure_ = spool_->error();
  take_unwritten(num_written, [&](std::string frame) {
    is_next_in_memory &= bytes_ < options_.memory_bytes;
    if (!is_next_in_memory) return;
    bytes_ += frame.size();
    frames_.push_back(std::move(frame));
  });
  start_sync_timer();
  update_full();
}

// The first of them are in the spool, or acknowledged before.
template <class Function>
void SendQueue::take_unwritten(size_t count, Function&& function) {
  for (size_t i = 0; i < count; ++i) {
    unwritten_bytes_ -= unwritten_[i].size();
    function(std::move(unwritten_[i]));
  }
  unwritten_.erase(unwritten_.begin(), unwritten_.begin() + static_cast<ptrdiff_t>(count));
  spooled_ += count;
}

const std::string* SendQueue::next() {
  if (!has_unsent()) return nullptr;
  if (next_ > spooled_) return &unwritten_[next_ - spooled_ - 1];
  if (next_ > in_memory()) load();
  return next_ > in_memory() ? nullptr : &frames_[next_ - first_];
}

void SendQueue::load() {
  if (bytes_ >= options_.memory_bytes) return;
  for (std::string& frame : spool_->read(in_memory() + 1, kBytesALoad)) {
    bytes_ += frame.size();
    frames_.push_back(std::move(frame));
  }
}

void SendQueue::start_sync_timer() {
  if (!sync_timer_->is_active()) sync_timer_->start(options_.sync_interval);
}

void SendQueue::on_sync_due() {
  write();
  const bool was_syncing = is_syncing_;
  if (!was_syncing) begin_sync();
  if (was_syncing || !is_empty()) start_sync_timer();
}

void SendQueue::begin_sync() {
  auto work = spool_->begin_sync();
  if (!work) return;
  is_syncing_ = true;
  sync_thread_->post([this, work = std::move(work), alive = std::weak_ptr(alive_), &loop = loop_] {
    loop.post([this, failure = work(), alive] {
      if (alive.expired()) return;
      is_syncing_ = false;
      sync_failure_ = failure;
      update_full();
    });
  });
}

std::string SendQueue::reason_for(bool was_full) const {
  if (!write_failure_.empty()) return write_failure_;
  if (!sync_failure_.empty()) return sync_failure_;
  // Between the two bounds it stays as it was.
  const auto is_above = [was_full](uint64_t bytes, uint64_t bound) {
    return bytes > (was_full ? bound - bound / 4 : bound);
  };
  if (!spool_ && is_above(bytes_, options_.memory_bytes)) {
    return cat("the link holds ", bytes_, " bytes in memory");
  }
  if (spool_ && is_above(spool_->size_bytes() + unwritten_bytes_, options_.spool_bytes)) {
    return cat("the spool ", options_.spool_folder, " holds ", spool_->size_bytes(), " bytes");
  }
  return "";
}

void SendQueue::update_full() {
  const bool was_full = is_full();
  full_reason_ = reason_for(was_full);
  if (is_full() != was_full) on_change_();
}

}  // namespace rtrain
