#include "host/loop/channel/frame_channel.h"

#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <span>

#include "host/base/error.h"
#include "host/base/fault.h"
#include "host/base/files/receive_buffer.h"
#include "host/base/text/text.h"
#include "host/loop/channel/byte_queue.h"
#include "host/loop/channel/frame.h"
#include "host/loop/poll.h"

namespace rtrain::loop {
namespace {

// After that many bytes of a round the loop does its other work before it reads more.
constexpr size_t kBytesARound = size_t{256} << 10;

}  // namespace

// The bytes to be written. Tasks posted to the loop share it, because they may run after the
// channel is destroyed.
class FrameChannel::Output {
 public:
  explicit Output(int fd) : fd_(fd) {}

  enum class Sent { kAll, kPart, kClosed };

  Sent send(std::string frame) {
    const std::lock_guard lock(mutex_);
    if (fd_ < 0) return Sent::kClosed;
    const bool was_empty = pending_.empty();
    pending_.add(frame);
    if (!was_empty) return Sent::kAll;  // the loop already waits until the socket takes more
    return write_pending() ? (pending_.empty() ? Sent::kAll : Sent::kPart) : Sent::kClosed;
  }

  // Returns true while there are bytes left to write.
  bool write_more() {
    const std::lock_guard lock(mutex_);
    return fd_ >= 0 && write_pending() && !pending_.empty();
  }

  Flushed flush(std::chrono::milliseconds timeout) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, timeout, [this] { return fd_ < 0 || pending_.empty(); });
    if (fd_ < 0) return Flushed::kClosed;
    return pending_.empty() ? Flushed::kAll : Flushed::kLate;
  }

  void close() {
    const std::lock_guard lock(mutex_);
    fd_ = -1;
    changed_.notify_all();
  }

 private:
  // Returns false when the other end is closed. The reader sees the end of the stream and closes.
  bool write_pending() {
    while (!pending_.empty()) {
      const std::string_view bytes = pending_.bytes();
      const ssize_t n = ::send(fd_, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && errno == EAGAIN) break;
      if (n < 0) {
        pending_.clear();
        fd_ = -1;
        changed_.notify_all();
        return false;
      }
      pending_.del(static_cast<size_t>(n));
    }
    if (pending_.empty()) changed_.notify_all();
    return true;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  int fd_;
  ByteQueue pending_;
};

struct FrameChannel::Input {
  Poll poll;
  FrameReader frames;
  bool ended = false;
};

FrameChannel::FrameChannel(Loop& loop, int fd, OnFrame on_frame, OnClose on_close)
    : loop_(loop),
      on_frame_(std::move(on_frame)),
      on_close_(std::move(on_close)),
      output_(std::make_shared<Output>(fd)),
      input_(new Input{.poll = Poll(loop, fd, [this](int events) { on_ready(events); }),
                       .frames = {}}) {
  input_->poll.start(UV_READABLE);
}

FrameChannel::~FrameChannel() { close(); }

bool FrameChannel::send(std::string_view body) {
  fault_point("channel.send");
  const Output::Sent sent = output_->send(to_frame(body));
  if (sent == Output::Sent::kPart) {
    loop_.post([this, alive = std::weak_ptr(output_)] {
      if (!alive.expired() && !input_->ended) input_->poll.start(UV_READABLE | UV_WRITABLE);
    });
  }
  return sent != Output::Sent::kClosed;
}

FrameChannel::Flushed FrameChannel::flush(std::chrono::milliseconds timeout) {
  return output_->flush(timeout);
}

// Does not read frames that arrive meanwhile: the other end may never stop sending.
void FrameChannel::drain() {
  int waiting = 0;
  if (input_->ended || ioctl(input_->poll.fd(), FIONREAD, &waiting) != 0) return;
  read(static_cast<size_t>(waiting) + 1);
}

void FrameChannel::close() {
  input_->ended = true;
  output_->close();
  input_->poll.close();
}

void FrameChannel::on_ready(int events) {
  if ((events & UV_WRITABLE) != 0 && !output_->write_more()) input_->poll.start(UV_READABLE);
  if ((events & UV_READABLE) != 0) read(kBytesARound);
}

void FrameChannel::read(size_t most) {
  const std::span<char> buffer = receive_buffer();
  size_t done = 0;
  try {
    while (!input_->ended && done < most) {
      const ssize_t n = ::recv(input_->poll.fd(), buffer.data(), buffer.size(), MSG_DONTWAIT);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && errno == EAGAIN) return;
      if (n <= 0) return finish("");
      done += static_cast<size_t>(n);
      input_->frames.add({buffer.data(), static_cast<size_t>(n)});
      while (!input_->ended) {
        auto body = input_->frames.next();
        if (!body) break;
        fault_point("channel.read");
        on_frame_(std::move(*body));
      }
    }
  } catch (const Error& e) {
    finish(e.message());
  }
}

void FrameChannel::finish(const std::string& reason) {
  if (input_->ended) return;
  close();
  on_close_(reason);
}

SocketPair make_socket_pair() {
  int fds[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0) {
    throw Error(Code::kEnvironment,
                cat("cannot create a socket pair: ", std::string_view(std::strerror(errno))));
  }
  return {fds[0], fds[1]};
}

}  // namespace rtrain::loop
