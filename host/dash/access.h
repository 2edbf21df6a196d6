// host/dash/access.h: who may ask the dashboard what. Pure.
//
// A request has to come to a name of ours (Host), so that no other site's name can be pointed here
// (DNS rebinding); from our own pages (Origin, Sec-Fetch-Site), so that no other site can use the
// viewer's cookie; and from somebody who has the token: in the address that was printed, in a
// header, or as the cookie that was given for it. There are two tokens: one of them, for those who
// only look, cannot change anything. Writing is off for both with read_only.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "host/http/http_response.h"

namespace rtrain::dash {

// The token in an address, and the one that it is exchanged for. None: no viewer has it.
struct AccessKey {
  std::string token;
  std::string cookie;
};

struct AccessOptions {
  AccessKey writer;                  // in the printed address
  AccessKey viewer;                  // for those who only look
  std::string cookie_name;           // cookies do not know ports: one for each
  bool is_secure = false;            // the cookie is for TLS alone
  std::vector<std::string> hosts;    // our own names and addresses, without a port; "*.name"
  std::vector<std::string> proxies;  // names of those that pass requests on to us
  std::string base_path;             // "" or "/name"
  bool read_only = false;
};

// "/name" of "name/", "" of "/". Throws Error(kUsage) for one that cannot be part of an address.
std::string checked_base_path(const std::string& path);

class Access {
 public:
  explicit Access(AccessOptions options) : options_(std::move(options)) {}

  // Why the request is refused; nothing: it may be answered. Takes the base path off its path, and
  // says whether it may write.
  std::optional<http::HttpResponse> refuse(http::HttpRequest& request) const;
  // The cookie for a request whose address has the token: the value of Set-Cookie.
  std::optional<std::string> cookie_for(const http::HttpRequest& request) const;

 private:
  bool is_ours(std::string_view host) const;
  bool is_from_elsewhere(const http::HttpRequest& request) const;

  AccessOptions options_;
};

}  // namespace rtrain::dash
