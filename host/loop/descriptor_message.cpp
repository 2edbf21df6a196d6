#include "host/loop/descriptor_message.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "host/base/codec.h"
#include "host/base/error.h"

namespace rtrain {
namespace {

constexpr size_t kMaxBytes = size_t{128} << 10;

union Control {
  cmsghdr header;
  char bytes[CMSG_SPACE(sizeof(int))];
};

int descriptor_of(msghdr& packet) {
  const cmsghdr* header = CMSG_FIRSTHDR(&packet);
  if (header == nullptr || header->cmsg_type != SCM_RIGHTS) return -1;
  int fd = -1;
  std::memcpy(&fd, CMSG_DATA(header), sizeof(fd));
  return fd;
}

}  // namespace

bool send_descriptor_message(int socket, const Value& value, int fd) {
  std::string bytes = encode(value);
  iovec part{bytes.data(), bytes.size()};
  Control control{};
  msghdr packet{};
  packet.msg_iov = &part;
  packet.msg_iovlen = 1;
  if (fd >= 0) {
    packet.msg_control = control.bytes;
    packet.msg_controllen = sizeof(control.bytes);
    cmsghdr* header = CMSG_FIRSTHDR(&packet);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &fd, sizeof(fd));
  }
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
  out.fd = descriptor_of(packet);
  try {
    out.value = decode({bytes.data(), static_cast<size_t>(n)});
    return Received::kMessage;
  } catch (const Error&) {
    if (out.fd >= 0) ::close(out.fd);
    out.fd = -1;
    return Received::kEnd;
  }
}

}  // namespace rtrain
