// host/http/http_port.h: a port that takes requests, and its connections.
//
// Belongs to the loop's thread. Connections are bounded: where all are in use, one that waits for a
// request gives up its own.
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
  int port = 0;                       // 0: any that is free
  int more_ports = 0;                 // tried after `port` while that is taken
  size_t max_connections = 512;
  std::shared_ptr<const wire::TlsCertificate> certificate = nullptr;  // without: no TLS
};

class HttpPortDelegate : public HttpConnectionDelegate {
 public:
  // The connection of that number is gone.
  virtual void on_closed(int64_t number) = 0;
};

class HttpPort {
 public:
  // Listens from here on. Throws Error(kUsage) for an address that is not numeric,
  // Error(kEnvironment) when no port can be had.
  HttpPort(loop::Loop& loop, const HttpPortOptions& options, HttpPortDelegate& delegate);

  const wire::SocketAddress& address() const { return address_; }
  // Null when it is closed.
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
