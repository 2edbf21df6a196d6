// host/dash/server/access.h: decides which requests the dashboard answers. Pure.
//
// A request must name one of our hosts (Host), so that another site's name cannot be made to lead
// here (DNS rebinding). It must come from our own pages (Origin, Sec-Fetch-Site), so that another
// site cannot use the viewer's cookie. And it must have the token: in the address that was printed,
// in a header, or as the cookie that was given for it. There are two tokens; the viewers' token
// cannot change anything. With read_only neither token can.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "host/http/http_response.h"

namespace rtrain::dash {

// The token in an address, and the cookie's token that replaces it. Empty: there is none.
struct AccessKey {
  std::string token;
  std::string cookie;
};

struct AccessOptions {
  AccessKey writer;                  // the printed address has it
  AccessKey viewer;                  // for viewers, who cannot change anything
  std::string cookie_name;           // cookies ignore ports: so each port has a name
  bool is_secure = false;            // the browser sends the cookie only over TLS
  std::vector<std::string> hosts;    // our own names and addresses, without a port; "*.name"
  std::vector<std::string> proxies;  // names of proxies that pass requests on to us
  std::string base_path;             // "" or "/name"
  bool read_only = false;
};

// Returns "/name" for "name/", "" for "/". Throws Error(kUsage) if it cannot be part of an address.
std::string checked_base_path(const std::string& path);

class Access {
 public:
  explicit Access(AccessOptions options) : options_(std::move(options)) {}

  // Returns the refusal, or nothing if the request may be answered. Removes the base path from its
  // path, and sets whether it may write.
  std::optional<http::HttpResponse> refuse(http::HttpRequest& request) const;
  // Returns the value of Set-Cookie for a request whose address has the token.
  std::optional<std::string> cookie_for(const http::HttpRequest& request) const;

 private:
  bool is_ours(std::string_view host) const;
  bool is_from_elsewhere(const http::HttpRequest& request) const;

  AccessOptions options_;
};

}  // namespace rtrain::dash
