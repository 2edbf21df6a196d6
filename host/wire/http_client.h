// host/wire/http_client.h: one request to a web server, over TLS for https. The library
// librtrain_tls.so (host/tls) makes it, so that a process that asks none does not load it.
#pragma once

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace rtrain::wire {

struct HttpCall {
  std::string method;
  std::string url;  // http:// or https://; no user or password in it
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
  bool verify =
      true;  // whether the server's certificate must be of an authority that the node trusts
  std::chrono::milliseconds timeout{10'000};  // of the whole call
};

struct HttpAnswer {
  int status = 0;
  std::string body;
};

// Throws Error(kArgument) for a URL that is none, and Error(kEnvironment) with the server's name
// and the reason if no answer came. Follows no redirection. Any thread.
HttpAnswer http_call(const HttpCall& call);

}  // namespace rtrain::wire
