// host/track/web_service.h: a web server that takes JSON.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host/base/value.h"

namespace rtrain::track {

class WebService {
 public:
  // `options`: headers (a map of texts), token (of "Authorization: Bearer"), username and password,
  // insecure_tls, timeout_s. `name`: of the service, for messages.
  WebService(std::string name, std::string url, const Value& options);

  const std::string& url() const { return url_; }
  // Sends to the URL and `path`, and returns the answer's body. Throws Error(kEnvironment) if the
  // server cannot be reached or cannot answer now, Error(kNotFound) for 404, and Error(kArgument)
  // if it refuses what was sent.
  std::string call(const std::string& method, const std::string& path, std::string body,
                   std::string_view type = "application/json") const;

 private:
  std::string name_, url_;
  std::vector<std::pair<std::string, std::string>> headers_;
  bool verify_;
  double timeout_s_;
};

}  // namespace rtrain::track
