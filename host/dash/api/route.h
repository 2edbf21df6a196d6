// host/dash/api/route.h: an address of the API: how it is called, and how a request finds it. Pure.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "host/dash/server/http_server.h"

namespace rtrain::dash {

class Api;
struct Route;

// A request for a route.
struct ApiRequest {
  const http::HttpRequest& request;
  const Route& route;
  std::string run;  // the text in its path in place of {run}, or ""

  // Returns the number of that name in the query, else the fallback. Throws Error(kUsage) for a
  // text that is not a number, or a number below `least`.
  int64_t number(const char* name, int64_t fallback, int64_t least = 0) const;
  // Whether the query has that name with "1" or "true".
  bool flag(const char* name) const;
  std::string text(const char* name) const { return request.query.find(name).value_or(""); }
  // The body: a JSON object with fields of the route. Error(kUsage) for any other.
  Value body() const;
};

enum class ParameterType { kString, kInteger, kNumber, kBoolean, kStrings };

// A query of the address, or a field of the body.
struct Parameter {
  const char* name;
  ParameterType type;
  const char* description;
};

enum class Content {
  kJson,
  kEvents,    // server-sent events
  kText,      // a file, also in parts
  kBytes,     // the same
  kDownload,  // bytes, always all
  kMedia,     // PNG, WAV, JSON or text
};

// The descriptions are for web pages and /openapi.json (host/dash/api/openapi.h).
struct Route {
  const char* method;
  const char* path;  // "/api/runs/{run}/metrics"
  const char* summary;
  std::vector<Parameter> queries = {};
  std::vector<Parameter> body = {};  // fields of a POST's JSON object
  const char* result;                // describes the content
  Content content = Content::kJson;
  HttpReply (*answer)(const Api& api, const ApiRequest& request);
  bool may_take_long = false;  // it waits for a live run
};

// Returns the row for the request; null without one.
const Route* find_route(std::span<const Route> routes, const http::HttpRequest& request);

// Calls the function of the request's row, or answers why there is none: 404, 405 with Allow, 400
// for a query that the route does not know. HEAD is answered as GET.
HttpReply call_route(std::span<const Route> routes, const Api& api,
                     const http::HttpRequest& request);

}  // namespace rtrain::dash
