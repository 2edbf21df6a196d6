// host/wire/socket_address.h: a numeric IPv4 or IPv6 address with a port. Pure, except near() and
// far(), which read a socket.
#pragma once

#include <sys/socket.h>

#include <optional>
#include <string>

namespace rtrain::wire {

class SocketAddress {
 public:
  SocketAddress() = default;
  SocketAddress(const sockaddr* address, socklen_t size);
  // Nullopt for a name, which NameLookup resolves.
  static std::optional<SocketAddress> parse(const std::string& address, int port);
  // This side's and the other side's address of a connected or listening socket.
  static SocketAddress near(int fd);
  static SocketAddress far(int fd);

  // Whether only this node can reach it.
  bool is_loopback() const;
  // "10.0.0.1", "::1"; "" without an address.
  std::string host() const;
  int port() const;
  void set_port(int port);
  // "10.0.0.1:29400", "[::1]:29400".
  std::string text() const;

  int family() const { return storage_.ss_family; }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage_); }
  socklen_t size() const { return size_; }

 private:
  sockaddr_storage storage_{};
  socklen_t size_ = 0;
};

}  // namespace rtrain::wire
