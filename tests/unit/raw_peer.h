// tests/unit/raw_peer.h: the client end of a connection, which sends any bytes at any time.
#pragma once

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <memory>
#include <string>

#include "host/base/files/fd.h"
#include "host/wire/socket_address.h"
#include "host/wire/tls_session.h"
#include "host/wire/wire_frame.h"

namespace rtrain {

// A plain socket connected to the server.
class Stranger {
 public:
  explicit Stranger(const wire::SocketAddress& server)
      : socket_(::socket(server.family(), SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    EXPECT_EQ(::connect(socket_.get(), server.get(), server.size()), 0);
    const int on = 1;
    ::setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  }

  void send(std::string_view bytes) {
    ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }
  // Reads the bytes that have arrived.
  void receive() {
    std::array<char, 4096> buffer;
    for (;;) {
      const ssize_t n = ::recv(socket_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
      if (n < 0 && errno == EAGAIN) return;
      if (n <= 0) is_closed_ = true;
      if (n <= 0) return;
      received_.append(buffer.data(), static_cast<size_t>(n));
    }
  }
  // Whether the server has closed the connection.
  bool is_closed() {
    receive();
    return is_closed_;
  }
  std::string take_received() {
    receive();
    return std::exchange(received_, {});
  }

 private:
  Fd socket_;
  std::string received_;
  bool is_closed_ = false;
};

// A peer that has the key.
class RawPeer {
 public:
  RawPeer(const wire::SocketAddress& server, const wire::WireKey& key)
      : socket_(server), tls_(wire::TlsSession::client(key)) {}

  // Continues the handshake. Call it until is_established().
  void step() {
    flush();
    const std::string bytes = socket_.take_received();
    if (bytes.empty()) return;
    tls_->feed(bytes);
    std::array<char, 4096> plain;
    while (const size_t n = tls_->read(plain.data(), plain.size())) {
      received_.append(plain.data(), n);
    }
    flush();
  }
  bool is_established() {
    step();
    return tls_->is_established();
  }
  void send(std::string_view plain) {
    tls_->write(plain);
    flush();
  }
  void send_frame(const wire::WireFrame& frame) {
    std::string bytes;
    frame.add_to(bytes);
    send(bytes);
  }
  bool is_closed() {
    step();
    return socket_.is_closed();
  }
  // Returns the decrypted bytes that the server has sent.
  const std::string& received() {
    step();
    return received_;
  }
  // All bytes that were sent to the socket.
  const std::string& sent() const { return sent_; }

 private:
  void flush() {
    const std::string bytes(tls_->output().bytes());
    tls_->output().clear();
    sent_ += bytes;
    if (!bytes.empty()) socket_.send(bytes);
  }

  Stranger socket_;
  std::unique_ptr<wire::TlsSession> tls_;
  std::string received_;
  std::string sent_;
};

}  // namespace rtrain
