// host/http/http_parser.h: parses the requests of one connection. Pure. It uses Boost.Beast, whose
// headers take long to compile, so only http_parser.cpp includes them.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>

#include "host/http/http_request.h"

namespace rtrain::http {

inline constexpr size_t kMaxHeaderBytes = size_t{16} << 10;
inline constexpr size_t kMaxBodyBytes = size_t{64} << 10;

class HttpParser {
 public:
  HttpParser();
  ~HttpParser();

  // Adds bytes of the peer.
  void feed(std::string_view bytes);
  // Returns the next complete request; nothing without one, and after a refusal.
  std::optional<HttpRequest> next();
  // The status with which the bytes are refused, 400, 413 or 431: no request can follow. 0: they
  // are valid so far.
  int refused() const;
  // How many of the added bytes no request has used yet.
  size_t pending_bytes() const;
  // Whether a request has begun and is incomplete.
  bool is_within_request() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace rtrain::http
