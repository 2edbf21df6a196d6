// host/dash/route.h: the addresses of the API: a table, and how a request finds its row. Pure.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "host/dash/http_server.h"

namespace rtrain::dash {

class Api;

// A request that a route takes.
struct ApiRequest {
  const http::HttpRequest& request;
  std::string run;  // the text for {run} in its path; empty without

  // The number under that name in the query, else the fallback. Error(kUsage) for a text that is
  // not a number and for one below `least`.
  int64_t number(const char* name, int64_t fallback, int64_t least = 0) const;
  // Without one: false. "1" and "true" are true.
  bool flag(const char* name) const;
  std::string text(const char* name) const { return request.query.find(name).value_or(""); }
  // The body, a JSON map. Error(kUsage).
  Value body() const;
};

struct Route {
  const char* method;
  const char* path;  // "/api/runs/{run}/metrics"
  std::vector<const char*> queries;
  HttpReply (*answer)(const Api& api, const ApiRequest& request);
  bool may_take_long = false;  // it waits for a live run
};

// The row for the request; null without one.
const Route* find_route(std::span<const Route> routes, const http::HttpRequest& request);

// Calls the row for the request, or says why there is none: 404, 405 with Allow, 400 for a query
// that the route does not know. HEAD is answered as GET.
HttpReply call_route(std::span<const Route> routes, const Api& api,
                     const http::HttpRequest& request);

}  // namespace rtrain::dash
