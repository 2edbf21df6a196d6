// host/http/http_request.h: one request, as it came and was checked by HttpParser. Pure data.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rtrain::http {

// Decoded pairs NAME=VALUE of an address, from the part after its "?".
class HttpQuery {
 public:
  void add(std::string name, std::string value);
  // Returns the last value of that name; nothing without one.
  std::optional<std::string> find(std::string_view name) const;
  std::vector<std::string> all(std::string_view name) const;
  std::vector<std::string> names() const;

 private:
  std::vector<std::pair<std::string, std::string>> pairs_;
};

struct HttpTarget {
  std::string path;  // decoded; begins with "/"
  HttpQuery query;
};

// Parses "/api/runs?limit=3". Returns nothing if it does not begin with "/", for an invalid escape
// and for a NUL.
std::optional<HttpTarget> parse_target(std::string_view target);

struct HttpRequest {
  std::string method;
  std::string path;
  HttpQuery query;
  std::map<std::string, std::string> headers;  // by name in lower case
  std::string body;
  bool keep_alive = true;
  bool may_write = false;  // the sender may change something (set by Access)
  std::string peer;        // the sender's address, without a port

  // Returns "" without one.
  const std::string& header(const std::string& name) const;
  // Returns the value of one of the request's cookies; "" without one.
  std::string cookie(std::string_view name) const;
  // Returns the token of "Authorization: Bearer TOKEN"; "" without one.
  std::string_view bearer() const;
  // Whether the method is neither GET nor HEAD.
  bool is_write() const { return method != "GET" && method != "HEAD"; }
};

}  // namespace rtrain::http
