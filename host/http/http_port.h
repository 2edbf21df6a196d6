// host/http/http_port.h: listens at a port, and owns its connections.
//
// Belongs to the loop's thread. The number of connections is limited: when it is reached, one that
// waits for a request is closed.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "host/http/http_connection.h"
#include "host/loop/timer.h"
#include "host/wire/socket_address.h"
#include "host/wire/tls_certificate.h"

namespace rtrain::http {

struct HttpPortOptions {
  std::string address = "127.0.0.1";  // numeric
  int port = 0;                       // 0: any free port
  int more_ports = 0;                 // number of ports to try after `port` if it is in use
  size_t max_connections = 512;
  std::shared_ptr<const wire::TlsCertificate> certificate = nullptr;  // null: no TLS
};

class HttpPortDelegate : public HttpConnectionDelegate {
 public:
  // The connection of that number has ended.
  virtual void on_closed(int64_t number) = 0;
};

class HttpPort {
 public:
  // Listens from here on. Throws Error(kUsage) for an address that is not numeric,
  // Error(kEnvironment) if no port is available.
  HttpPort(loop::Loop& loop, const HttpPortOptions& options, HttpPortDelegate& delegate);

  const wire::SocketAddress& address() const { return address_; }
  // Returns null if the connection is closed.
  HttpConnection* find(int64_t number);

 private:
  void accept();
  bool make_place();
  void sweep();

  loop::Loop& loop_;
  HttpPortOptions options_;
  HttpPortDelegate& delegate_;
  wire::SocketAddress address_;
  std::map<int64_t, std::unique_ptr<HttpConnection>> connections_;  // the oldest first
  int64_t last_number_ = 0;
  std::optional<loop::Poll> listener_;
  loop::Timer sweep_timer_;
};

}  // namespace rtrain::http
