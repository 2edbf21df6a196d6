#include "host/loop/channel/descriptor_message.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "host/base/codec/codec.h"
#include "host/base/error.h"

namespace rtrain::loop {
namespace {

constexpr size_t kMaxBytes = size_t{128} << 10;
constexpr size_t kMaxDescriptors = 253;  // the kernel's own limit

union Control {
  cmsghdr header;
  char bytes[CMSG_SPACE(kMaxDescriptors * sizeof(int))];
};

void add_descriptors(msghdr& packet, Control& control, const std::vector<int>& fds) {
  const size_t size = fds.size() * sizeof(int);
  packet.msg_control = control.bytes;
  packet.msg_controllen = CMSG_SPACE(size);
  cmsghdr* header = CMSG_FIRSTHDR(&packet);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(size);
  std::memcpy(CMSG_DATA(header), fds.data(), size);
}

std::vector<Fd> descriptors_of(msghdr& packet) {
  std::vector<Fd> out;
  const cmsghdr* header = CMSG_FIRSTHDR(&packet);
  if (header == nullptr || header->cmsg_type != SCM_RIGHTS) return out;
  const size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
  for (size_t i = 0; i < count; ++i) {
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(header) + i * sizeof(int), sizeof(fd));
    out.emplace_back(fd);
  }
  return out;
}

}  // namespace

bool send_descriptor_message(int socket, const Value& value, const std::vector<int>& fds) {
  std::string bytes = encode(value);
  if (bytes.size() > kMaxBytes || fds.size() > kMaxDescriptors) return false;
  iovec part{bytes.data(), bytes.size()};
  Control control{};
  msghdr packet{};
  packet.msg_iov = &part;
  packet.msg_iovlen = 1;
  if (!fds.empty()) add_descriptors(packet, control, fds);
  ssize_t sent = -1;
  do {
    sent = sendmsg(socket, &packet, MSG_DONTWAIT | MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent == static_cast<ssize_t>(bytes.size());
}

Received receive_descriptor_message(int socket, DescriptorMessage& out) {
  std::string bytes(kMaxBytes, '\0');
  iovec part{bytes.data(), bytes.size()};
  Control control{};
  msghdr packet{};
  packet.msg_iov = &part;
  packet.msg_iovlen = 1;
  packet.msg_control = control.bytes;
  packet.msg_controllen = sizeof(control.bytes);
  ssize_t n = -1;
  do {
    n = recvmsg(socket, &packet, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  } while (n < 0 && errno == EINTR);
  if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return Received::kNothing;
  if (n <= 0) return Received::kEnd;
  out.fds = descriptors_of(packet);
  try {
    out.value = decode({bytes.data(), static_cast<size_t>(n)});
    return Received::kMessage;
  } catch (const Error&) {
    out.fds.clear();
    return Received::kEnd;
  }
}

bool wait_for_descriptor_message(int socket, DescriptorMessage& out) {
  for (;;) {
    const Received received = receive_descriptor_message(socket, out);
    if (received != Received::kNothing) return received == Received::kMessage;
    pollfd ready{socket, POLLIN, 0};
    poll(&ready, 1, -1);
  }
}

}  // namespace rtrain::loop
