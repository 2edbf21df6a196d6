#include "host/engine/data/stream_channel.h"

#include <pthread.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/engine/data/packed_tree.h"
#include "host/engine/data/socket_deadline.h"

namespace rtrain::engine {
namespace {

// Larger than any block of rows: a larger length means that the data is not a message.
constexpr uint64_t kMostBytes = uint64_t{1} << 40;

bool is_gone(int error) { return error == EPIPE || error == ECONNRESET; }

// Returns false if the other end is closed.
bool write_all(int fd, std::string_view bytes, const SocketDeadline& deadline) {
  while (!bytes.empty()) {
    const ssize_t n = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n >= 0) {
      bytes.remove_prefix(static_cast<size_t>(n));
      continue;
    }
    if (is_gone(errno)) return false;
    if (errno != EAGAIN && errno != EINTR) {
      throw Error(Code::kEnvironment,
                  cat("cannot send to another process: ", std::string_view(std::strerror(errno))));
    }
    if (!deadline.wait(fd, POLLOUT)) {
      throw Error(Code::kTimeout, "another process takes no more messages");
    }
  }
  return true;
}

std::shared_ptr<char> allocate(size_t size) {
  constexpr size_t kStep = PackedTree::kTensorAlignment;
  void* bytes = std::aligned_alloc(kStep, (size + kStep - 1) / kStep * kStep);
  if (bytes == nullptr) {
    throw Error(Code::kEnvironment, cat("no memory for a block of rows of ", size, " bytes"));
  }
  return {static_cast<char*>(bytes), &std::free};
}

}  // namespace

std::optional<size_t> StreamChannel::send(const Tree& tree, std::chrono::milliseconds timeout) {
  const PackedTree packed(tree);
  const SocketDeadline deadline(timeout);
  const uint64_t size = packed.size();
  const std::string_view head(reinterpret_cast<const char*>(&size), sizeof(size));
  bool is_sent = write_all(fd_.get(), head, deadline);
  packed.write(
      [&](std::string_view part) { is_sent = is_sent && write_all(fd_.get(), part, deadline); });
  if (!is_sent) return std::nullopt;
  return packed.size();
}

// Returns false if the other end is closed.
bool StreamChannel::fill(char* to, size_t size) {
  while (size > 0) {
    const ssize_t n = ::recv(fd_.get(), to, size, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    to += n;
    size -= static_cast<size_t>(n);
  }
  return true;
}

bool StreamChannel::read_message() {
  uint64_t size = 0;
  if (!fill(reinterpret_cast<char*>(&size), sizeof(size))) return false;
  if (size > kMostBytes) throw Error(Code::kInternal, "another process sends no messages");
  Message message{allocate(size), size};
  if (!fill(message.bytes.get(), size)) return false;
  const std::lock_guard lock(mutex_);
  messages_.push_back(std::move(message));
  changed_.notify_all();
  return true;
}

void StreamChannel::read() {
  ::pthread_setname_np(::pthread_self(), "rtrain-rows");
  std::string problem;
  try {
    while (read_message()) {
    }
  } catch (const Error& e) {
    problem = e.message();
  }
  const std::lock_guard lock(mutex_);
  is_closed_ = true;
  problem_ = std::move(problem);
  changed_.notify_all();
}

StreamChannel::StreamChannel(Fd socket) : fd_(std::move(socket)) {
  reader_ = std::thread([this] { read(); });
}

StreamChannel::~StreamChannel() {
  ::shutdown(fd_.get(), SHUT_RDWR);
  reader_.join();
}

TreeChannel::Received StreamChannel::receive(std::chrono::milliseconds timeout) {
  std::unique_lock lock(mutex_);
  const auto has_news = [this] { return !messages_.empty() || is_closed_; };
  if (!changed_.wait_for(lock, timeout, has_news)) return {Received::Kind::kTimeout};
  if (messages_.empty() && !problem_.empty()) throw Error(Code::kEnvironment, problem_);
  if (messages_.empty()) return {Received::Kind::kClosed};
  const Message message = std::move(messages_.front());
  messages_.pop_front();
  lock.unlock();
  return {Received::Kind::kTree, unpack_tree({message.bytes.get(), message.size}, message.bytes)};
}

}  // namespace rtrain::engine
