#include "host/wire/socket_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "host/base/text/text.h"

namespace rtrain::wire {
namespace {

constexpr uint32_t kLoopbackNetwork = 127;  // 127.0.0.0/8

bool is_loopback_v4(uint32_t network_order) {
  return ntohl(network_order) >> 24 == kLoopbackNetwork;
}

}  // namespace

SocketAddress::SocketAddress(const sockaddr* address, socklen_t size)
    : size_(std::min<socklen_t>(size, sizeof(storage_))) {
  std::memcpy(&storage_, address, size_);
}

std::optional<SocketAddress> SocketAddress::parse(const std::string& address, int port) {
  SocketAddress out;
  sockaddr_in v4{};
  sockaddr_in6 v6{};
  if (inet_pton(AF_INET, address.c_str(), &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
    out = SocketAddress(reinterpret_cast<const sockaddr*>(&v4), sizeof(v4));
  } else if (inet_pton(AF_INET6, address.c_str(), &v6.sin6_addr) == 1) {
    v6.sin6_family = AF_INET6;
    out = SocketAddress(reinterpret_cast<const sockaddr*>(&v6), sizeof(v6));
  } else {
    return std::nullopt;
  }
  out.set_port(port);
  return out;
}

SocketAddress SocketAddress::near(int fd) {
  SocketAddress out;
  out.size_ = sizeof(out.storage_);
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&out.storage_), &out.size_) != 0) return {};
  return out;
}

SocketAddress SocketAddress::far(int fd) {
  SocketAddress out;
  out.size_ = sizeof(out.storage_);
  if (getpeername(fd, reinterpret_cast<sockaddr*>(&out.storage_), &out.size_) != 0) return {};
  return out;
}

bool SocketAddress::is_loopback() const {
  if (family() == AF_INET) {
    return is_loopback_v4(reinterpret_cast<const sockaddr_in*>(&storage_)->sin_addr.s_addr);
  }
  if (family() != AF_INET6) return false;
  const in6_addr& v6 = reinterpret_cast<const sockaddr_in6*>(&storage_)->sin6_addr;
  return IN6_IS_ADDR_LOOPBACK(&v6) ||
         (IN6_IS_ADDR_V4MAPPED(&v6) && is_loopback_v4(v6.s6_addr32[3]));
}

std::string SocketAddress::host() const {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const void* bytes = nullptr;
  if (family() == AF_INET) bytes = &reinterpret_cast<const sockaddr_in*>(&storage_)->sin_addr;
  if (family() == AF_INET6) bytes = &reinterpret_cast<const sockaddr_in6*>(&storage_)->sin6_addr;
  if (bytes == nullptr) return "";
  inet_ntop(family(), bytes, text.data(), text.size());
  return text.data();
}

int SocketAddress::port() const {
  if (family() == AF_INET) return ntohs(reinterpret_cast<const sockaddr_in*>(&storage_)->sin_port);
  if (family() != AF_INET6) return 0;
  return ntohs(reinterpret_cast<const sockaddr_in6*>(&storage_)->sin6_port);
}

void SocketAddress::set_port(int port) {
  const in_port_t value = htons(static_cast<uint16_t>(port));
  if (family() == AF_INET) reinterpret_cast<sockaddr_in*>(&storage_)->sin_port = value;
  if (family() == AF_INET6) reinterpret_cast<sockaddr_in6*>(&storage_)->sin6_port = value;
}

std::string SocketAddress::text() const {
  return family() == AF_INET6 ? cat("[", host(), "]:", port()) : cat(host(), ":", port());
}

}  // namespace rtrain::wire
