// host/http/http_parser.h: bytes of one connection become requests. Pure; Boost.Beast parses, and
// its headers take long to compile: http_parser.cpp alone includes them.
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

  // Takes bytes of the peer.
  void feed(std::string_view bytes);
  // The next whole request among them; nothing while there is none, and after a refusal.
  std::optional<HttpRequest> next();
  // The status of the refusal of the bytes fed so far, 400, 413, 431: nothing can follow it. 0: it
  // is fine.
  int refused() const;
  // How many bytes were fed that no request has used yet.
  size_t pending_bytes() const;
  // A request has begun and is not whole.
  bool is_within_request() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace rtrain::http
