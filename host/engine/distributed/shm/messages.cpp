#include "host/engine/distributed/shm/messages.h"

#include <pthread.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "host/base/error.h"
#include "host/base/text/text.h"

namespace rtrain::engine {
namespace {

// Exceeds any node's memory.
constexpr uint64_t kMostBytes = uint64_t{1} << 44;

}  // namespace

ShmMessages::ShmMessages(std::shared_ptr<ShmSegment> segment, std::chrono::milliseconds timeout)
    : segment_(std::move(segment)),
      timeout_(timeout),
      outgoing_(static_cast<size_t>(segment_->num_ranks())),
      incoming_(static_cast<size_t>(segment_->num_ranks())) {}

void ShmMessages::close() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
    fail_all(std::make_exception_ptr(Error(Code::kArgument, "the process group was destroyed")));
  }
  changed_.notify_all();
  ShmSegment::increment(segment_->bell(segment_->rank()));
  if (thread_.joinable()) thread_.join();
}

void ShmMessages::set_timeout(std::chrono::milliseconds timeout) {
  const std::lock_guard lock(mutex_);
  timeout_ = timeout;
}

ShmMessages::MessagePtr ShmMessages::begin(Bytes data, int peer, int tag,
                                           std::shared_ptr<const void> owner) {
  if (failure_ != nullptr) std::rethrow_exception(failure_);
  auto out = std::make_shared<ShmMessage>();
  out->peer_ = peer;
  out->tag_ = tag;
  out->data_ = data;
  out->owner_ = std::move(owner);
  out->deadline_ = ShmMessage::Clock::now() + timeout_;
  return out;
}

ShmMessages::MessagePtr ShmMessages::send(Bytes data, int to, int tag,
                                          std::shared_ptr<const void> owner) {
  const std::lock_guard lock(mutex_);
  auto message = begin(data, to, tag, std::move(owner));
  outgoing_[static_cast<size_t>(to)].push_back(message);
  move();
  return message;
}

ShmMessages::MessagePtr ShmMessages::receive(Bytes data, int from, int tag,
                                             std::shared_ptr<const void> owner) {
  const std::lock_guard lock(mutex_);
  auto message = begin(data, from, tag, std::move(owner));
  for (int rank = 0; rank < segment_->num_ranks(); ++rank) {
    if ((from < 0 || rank == from) && take_early(message, rank)) return message;
  }
  receivers_.push_back(message);
  move();
  return message;
}

bool ShmMessages::has_ended(const ShmMessage& message) {
  const std::lock_guard lock(mutex_);
  if (!message.has_ended_) move();
  return message.has_ended_;
}

void ShmMessages::wait(const ShmMessage& message) {
  const int mine = segment_->rank();
  std::unique_lock lock(mutex_);
  while (true) {
    const uint32_t seen = segment_->bell(mine).value.load(std::memory_order_seq_cst);
    if (!message.has_ended_) move();
    if (message.has_ended_) {
      if (message.failure_ != nullptr) std::rethrow_exception(message.failure_);
      return;
    }
    const int rank = awaited(message);
    const auto deadline = message.deadline_;
    lock.unlock();
    try {
      segment_->wait(rank, segment_->bell(mine), seen + 1, deadline);
      lock.lock();
    } catch (const Error&) {
      lock.lock();
      fail_all(std::current_exception());
    }
  }
}

// The rank to wait for; for a receive from any rank, one that has not left.
int ShmMessages::awaited(const ShmMessage& message) const {
  if (message.peer_ >= 0) return message.peer_;
  const int mine = segment_->rank();
  for (int rank = 0; rank < segment_->num_ranks(); ++rank) {
    if (rank != mine && !segment_->has_left(rank)) return rank;
  }
  return mine == 0 ? segment_->num_ranks() - 1 : 0;
}

void ShmMessages::move_on_thread() {
  const std::lock_guard lock(mutex_);
  if (!thread_.joinable()) thread_ = std::thread([this] { serve(); });
  changed_.notify_all();
}

void ShmMessages::serve() {
  pthread_setname_np(pthread_self(), "rtrain-messages");
  while (true) {
    MessagePtr next;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return is_ending_ || first_under_way() != nullptr; });
      if (is_ending_) return;
      next = first_under_way();
    }
    try {
      wait(*next);
    } catch (const std::exception&) {
      // wait() throws the error to the caller who waits for the message.
    }
  }
}

ShmMessages::MessagePtr ShmMessages::first_under_way() const {
  for (const auto& queue : outgoing_) {
    if (!queue.empty()) return queue.front();
  }
  for (const Incoming& each : incoming_) {
    if (each.receiver != nullptr) return each.receiver;
    for (const auto& early : each.early) {
      if (early->receiver != nullptr) return early->receiver;
    }
  }
  return receivers_.empty() ? nullptr : receivers_.front();
}

void ShmMessages::end(ShmMessage& message, std::exception_ptr failure) {
  message.failure_ = std::move(failure);
  message.has_ended_ = true;
  message.owner_.reset();
}

// After an error the ranks' positions in the rings differ, so all messages fail.
void ShmMessages::fail_all(const std::exception_ptr& failure) {
  if (failure_ == nullptr) failure_ = failure;
  while (const MessagePtr message = first_under_way()) {
    end(*message, failure_);
    for (auto& queue : outgoing_) std::erase(queue, message);
    for (Incoming& each : incoming_) {
      if (each.receiver == message) each.receiver = nullptr;
      for (const auto& early : each.early) {
        if (early->receiver == message) early->receiver = nullptr;
      }
    }
    std::erase(receivers_, message);
  }
}

void ShmMessages::move() {
  try {
    for (int rank = 0; failure_ == nullptr && rank < segment_->num_ranks(); ++rank) {
      move_outgoing(rank);
      move_incoming(rank);
    }
  } catch (const Error&) {
    fail_all(std::current_exception());
  }
}

// Writes as many bytes as the ring has space for.
size_t ShmMessages::write(int to, const std::byte* data, size_t bytes) {
  ShmRing& ring = segment_->ring(segment_->rank(), to);
  std::byte* const memory = segment_->ring_bytes(segment_->rank(), to);
  const uint32_t written = ring.written.value.load(std::memory_order_relaxed);
  const uint32_t used = written - ring.read.value.load(std::memory_order_acquire);
  if (used > ShmSegment::kRingBytes) throw segment_->damaged(to, "counter");
  const size_t count = std::min(bytes, ShmSegment::kRingBytes - used);
  const size_t begin = written % ShmSegment::kRingBytes;
  const size_t first = std::min(count, ShmSegment::kRingBytes - begin);
  if (first > 0) std::memcpy(memory + begin, data, first);
  if (count > first) std::memcpy(memory, data + first, count - first);
  if (count > 0) ShmSegment::advance(ring.written, written + static_cast<uint32_t>(count));
  return count;
}

// Reads as many bytes as the ring holds.
size_t ShmMessages::read(int from, std::byte* data, size_t bytes) {
  ShmRing& ring = segment_->ring(from, segment_->rank());
  const std::byte* const memory = segment_->ring_bytes(from, segment_->rank());
  const uint32_t taken = ring.read.value.load(std::memory_order_relaxed);
  const uint32_t left = ring.written.value.load(std::memory_order_acquire) - taken;
  if (left > ShmSegment::kRingBytes) throw segment_->damaged(from, "counter");
  const size_t count = std::min(bytes, size_t{left});
  const size_t begin = taken % ShmSegment::kRingBytes;
  const size_t first = std::min(count, ShmSegment::kRingBytes - begin);
  if (first > 0 && data != nullptr) std::memcpy(data, memory + begin, first);
  if (count > first && data != nullptr) std::memcpy(data + first, memory, count - first);
  if (count > 0) ShmSegment::advance(ring.read, taken + static_cast<uint32_t>(count));
  return count;
}

void ShmMessages::move_outgoing(int to) {
  auto& queue = outgoing_[static_cast<size_t>(to)];
  bool has_moved = false;
  while (!queue.empty()) {
    ShmMessage& message = *queue.front();
    const Header header{.bytes = message.data_.size(), .tag = message.tag_};
    size_t count = 0;
    if (message.moved_ < sizeof(header)) {
      const auto* bytes = reinterpret_cast<const std::byte*>(&header);
      count = write(to, bytes + message.moved_, sizeof(header) - message.moved_);
    } else {
      const size_t done = message.moved_ - sizeof(header);
      count = write(to, message.data_.data() + done, message.data_.size() - done);
    }
    message.moved_ += count;
    has_moved = has_moved || count > 0;
    if (message.moved_ == sizeof(header) + message.data_.size()) {
      end(message);
      queue.pop_front();
    } else if (count == 0) {
      break;
    }
  }
  if (has_moved) ShmSegment::increment(segment_->bell(to));
}

bool ShmMessages::is_wanted(int from) const {
  return std::any_of(receivers_.begin(), receivers_.end(), [&](const MessagePtr& each) {
    return each->peer_ < 0 || each->peer_ == from;
  });
}

// Called after the header: chooses the receiver of the bytes.
void ShmMessages::choose_receiver(int from) {
  Incoming& in = incoming_[static_cast<size_t>(from)];
  if (in.header.bytes > kMostBytes) throw segment_->damaged(from, "size");
  for (auto each = receivers_.begin(); each != receivers_.end(); ++each) {
    ShmMessage& message = **each;
    if ((message.peer_ >= 0 && message.peer_ != from) || message.tag_ != in.header.tag) continue;
    message.peer_ = from;
    in.is_dropped = message.data_.size() != in.header.bytes;
    in.receiver = *each;
    receivers_.erase(each);
    return;
  }
  auto early = std::make_unique<Early>();
  early->tag = static_cast<int>(in.header.tag);
  try {
    early->data.resize(in.header.bytes);
  } catch (const std::bad_alloc&) {
    throw Error(Code::kEnvironment, cat("recv: no memory for the ", in.header.bytes,
                                        " bytes that rank ", segment_->name(from), " has sent"));
  }
  in.early.push_back(std::move(early));
}

void ShmMessages::move_incoming(int from) {
  Incoming& in = incoming_[static_cast<size_t>(from)];
  bool has_moved = false;
  while (true) {
    size_t count = 0;
    if (in.moved < sizeof(Header)) {
      if (in.moved == 0 && !is_wanted(from)) break;
      auto* bytes = reinterpret_cast<std::byte*>(&in.header);
      count = read(from, bytes + in.moved, sizeof(Header) - in.moved);
      in.moved += count;
      if (count > 0 && in.moved == sizeof(Header)) choose_receiver(from);
    } else {
      const size_t done = in.moved - sizeof(Header);
      std::byte* to = nullptr;
      if (in.receiver == nullptr && !in.early.empty()) to = in.early.back()->data.data();
      if (in.receiver != nullptr && !in.is_dropped) to = in.receiver->data_.data();
      count = read(from, to == nullptr ? nullptr : to + done, in.header.bytes - done);
      in.moved += count;
    }
    has_moved = has_moved || count > 0;
    if (in.moved >= sizeof(Header) && in.moved == sizeof(Header) + in.header.bytes) {
      complete(from);
    } else if (count == 0) {
      break;
    }
  }
  if (has_moved) ShmSegment::increment(segment_->bell(from));
}

namespace {

std::exception_ptr wrong_size(int from, size_t sent, size_t wanted) {
  return std::make_exception_ptr(
      Error(Code::kArgument, cat("recv: rank ", from, " has sent ", sent,
                                 " bytes, the tensor has room "
                                 "for ",
                                 wanted, ": send and receive tensors of one shape and dtype")));
}

}  // namespace

// Called when the message is complete.
void ShmMessages::complete(int from) {
  Incoming& in = incoming_[static_cast<size_t>(from)];
  in.moved = 0;
  if (const MessagePtr receiver = std::exchange(in.receiver, nullptr)) {
    end(*receiver, in.is_dropped
                       ? wrong_size(segment_->name(from), in.header.bytes, receiver->data_.size())
                       : nullptr);
    return;
  }
  Early& early = *in.early.back();
  early.is_complete = true;
  if (const MessagePtr receiver = std::exchange(early.receiver, nullptr)) {
    take_early(receiver, from);
  }
}

// Looks for a message that arrived before its receive. True if there is one for this receiver.
bool ShmMessages::take_early(const MessagePtr& receiver, int from) {
  auto& all = incoming_[static_cast<size_t>(from)].early;
  const auto found = std::find_if(all.begin(), all.end(), [&](const auto& each) {
    return each->receiver == nullptr && each->tag == receiver->tag_;
  });
  if (found == all.end()) return false;
  receiver->peer_ = from;
  Early& early = **found;
  if (!early.is_complete) {
    early.receiver = receiver;
    return true;
  }
  if (early.data.size() != receiver->data_.size()) {
    end(*receiver, wrong_size(segment_->name(from), early.data.size(), receiver->data_.size()));
  } else {
    if (!early.data.empty()) {
      std::memcpy(receiver->data_.data(), early.data.data(), early.data.size());
    }
    end(*receiver);
  }
  all.erase(found);
  return true;
}

}  // namespace rtrain::engine
