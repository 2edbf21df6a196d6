#include "host/loop/channel/message_server.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "host/base/clock.h"
#include "host/base/codec/codec.h"
#include "host/base/error.h"
#include "host/base/text/text.h"

namespace rtrain::loop {
namespace {

// By default the kernel lets a socket hold somewhat more.
constexpr size_t kMostBytes = size_t{160} << 10;

enum class Packet { kRead, kNothing, kEnd };

bool is_of_the_moment(int reason) { return reason == EAGAIN || reason == EINTR; }

Packet read_packet(int fd, std::string& bytes) {
  bytes.resize(kMostBytes);
  const ssize_t n = recv(fd, bytes.data(), bytes.size(), MSG_DONTWAIT);
  if (n < 0) return is_of_the_moment(errno) ? Packet::kNothing : Packet::kEnd;
  bytes.resize(static_cast<size_t>(n));
  return n == 0 ? Packet::kEnd : Packet::kRead;
}

// Waits until the socket is ready for these events.
void wait_for(int fd, short events) {
  pollfd ready{fd, events, 0};
  poll(&ready, 1, -1);
}

std::string encode_packet(const Value& value) {
  std::string bytes = encode(value);
  if (bytes.size() <= kMostBytes) return bytes;
  throw Error(Code::kArgument, cat("a message of ", bytes.size(), " bytes between a trial and its ",
                                   "sweep: at most ", kMostBytes, " are allowed"));
}

// Returns nothing for bytes that cannot be decoded.
std::optional<Value> decode_packet(const std::string& bytes) {
  try {
    return decode(bytes);
  } catch (const Error&) {
    return std::nullopt;
  }
}

// Returns false when the peer does not read any more.
bool send_packet(int fd, const std::string& bytes) {
  while (send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL) < 0) {
    if (!is_of_the_moment(errno)) return false;
    wait_for(fd, POLLOUT);
  }
  return true;
}

}  // namespace

MessageServer::MessageServer(const std::string& name)
    : socket_(name, SOCK_SEQPACKET), listener_(socket_.take_fd()) {}

std::optional<Question> MessageServer::next(double timeout_s) {
  const double deadline_s = monotonic_s() + timeout_s;
  for (;;) {
    accept_all();
    if (auto question = read_one()) return question;
    if (!wait(std::max(0.0, deadline_s - monotonic_s()))) return std::nullopt;
  }
}

void MessageServer::accept_all() {
  for (int fd = 0; (fd = machine::accept_runtime_socket(listener_.get())) >= 0;) {
    peers_.emplace(++last_peer_, Fd(fd));
  }
}

std::optional<Question> MessageServer::read_one() {
  std::string bytes;
  for (auto& [peer, fd] : peers_) {
    const Packet packet = read_packet(fd.get(), bytes);
    if (packet == Packet::kNothing) continue;
    Question out{peer, std::nullopt};
    if (packet == Packet::kRead) out.value = decode_packet(bytes);
    if (!out.value) peers_.erase(peer);
    return out;
  }
  return std::nullopt;
}

// Returns false when the time has passed.
bool MessageServer::wait(double timeout_s) {
  std::vector<pollfd> ready{{listener_.get(), POLLIN, 0}};
  for (const auto& [peer, fd] : peers_) ready.push_back({fd.get(), POLLIN, 0});
  return poll(ready.data(), ready.size(), static_cast<int>(to_ms(timeout_s).count())) != 0;
}

void MessageServer::answer(int64_t peer, const Value& value) {
  const std::string bytes = encode_packet(value);
  const auto found = peers_.find(peer);
  if (found != peers_.end()) send_packet(found->second.get(), bytes);
}

MessageClient::MessageClient(const std::string& name)
    : name_(name), socket_(machine::connect_runtime_socket(name, SOCK_SEQPACKET)) {
  if (socket_.get() >= 0) return;
  const int reason = errno;
  throw Error(Code::kEnvironment,
              cat("nobody listens at ", name, ": ", std::string_view(std::strerror(reason))));
}

Value MessageClient::ask(const Value& question) {
  std::string bytes = encode_packet(question);
  if (!send_packet(socket_.get(), bytes)) {
    throw Error(Code::kEnvironment, cat("the process behind ", name_, " has ended"));
  }
  for (;;) {
    const Packet packet = read_packet(socket_.get(), bytes);
    if (packet == Packet::kRead) return decode(bytes);
    if (packet == Packet::kEnd) {
      throw Error(Code::kEnvironment, cat("the process behind ", name_, " has ended"));
    }
    wait_for(socket_.get(), POLLIN);
  }
}

}  // namespace rtrain::loop
