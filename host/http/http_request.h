// host/http/http_request.h: one request, as it came and was checked by HttpParser. Pure data.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rtrain::http {

// NAME=VALUE pairs behind the "?" of an address, decoded.
class HttpQuery {
 public:
  void add(std::string name, std::string value);
  // The last value of that name; nothing without one.
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

// Of "/api/runs?limit=3". Nothing for one that does not begin with "/", for a wrong escape and for
// a NUL.
std::optional<HttpTarget> parse_target(std::string_view target);

struct HttpRequest {
  std::string method;
  std::string path;
  HttpQuery query;
  std::map<std::string, std::string> headers;  // by name in lower case
  std::string body;
  bool keep_alive = true;
  bool may_write = false;  // whoever sent it may change something (Access)
  std::string peer;        // the address that it came from, without a port

  // Empty without one.
  const std::string& header(const std::string& name) const;
  // Of the request's cookies; empty without one.
  std::string cookie(std::string_view name) const;
  // The token of "Authorization: Bearer TOKEN"; empty without one.
  std::string_view bearer() const;
  // Neither GET nor HEAD.
  bool is_write() const { return method != "GET" && method != "HEAD"; }
};

}  // namespace rtrain::http
