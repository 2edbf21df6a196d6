#include "host/dash/route.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "host/base/codec/json.h"
#include "host/base/error.h"
#include "host/base/text/text.h"

namespace rtrain::dash {
namespace {

// The run in the path; nothing when the path is another one.
std::optional<std::string> match(std::string_view pattern, std::string_view path) {
  constexpr std::string_view kRun = "{run}";
  const size_t at = pattern.find(kRun);
  if (at == std::string_view::npos) {
    if (pattern != path) return std::nullopt;
    return "";
  }
  const std::string_view before = pattern.substr(0, at);
  const std::string_view after = pattern.substr(at + kRun.size());
  if (!path.starts_with(before)) return std::nullopt;
  path.remove_prefix(before.size());
  if (path.size() <= after.size() || !path.ends_with(after)) return std::nullopt;
  path.remove_suffix(after.size());
  if (path.find('/') != std::string_view::npos) return std::nullopt;
  return std::string(path);
}

// The name in the query that the route does not know; empty: none.
std::string unknown_query(const Route& route, const http::HttpRequest& request) {
  for (const std::string& name : request.query.names()) {
    const auto is_it = [&](const char* known) { return name == known; };
    if (name != "token" && std::none_of(route.queries.begin(), route.queries.end(), is_it)) {
      return name;
    }
  }
  return "";
}

HttpReply unknown(const Route& route, const std::string& name) {
  const std::vector<std::string> known(route.queries.begin(), route.queries.end());
  return {http::error_response(
      400, "usage", cat(route.path, " has no parameter '", name, "'", suggestion(name, known)))};
}

}  // namespace

int64_t ApiRequest::number(const char* name, int64_t fallback, int64_t least) const {
  const auto text = request.query.find(name);
  if (!text) return fallback;
  int64_t out = 0;
  const char* last = text->data() + text->size();
  const auto [end, status] = std::from_chars(text->data(), last, out);
  if (status != std::errc() || end != last || out < least) {
    throw Error(Code::kUsage,
                cat(name, ": '", *text, "' is not a whole number from ", least, " on"));
  }
  return out;
}

bool ApiRequest::flag(const char* name) const {
  const std::string value = text(name);
  return value == "1" || value == "true";
}

Value ApiRequest::body() const {
  try {
    Value out = from_json(request.body);
    if (out.is_map()) return out;
  } catch (const Error& e) {
    throw Error(Code::kUsage, cat("the body: ", e.message()));
  }
  throw Error(Code::kUsage, "the body is not a JSON object");
}

const Route* find_route(std::span<const Route> routes, const http::HttpRequest& request) {
  const std::string method = request.method == "HEAD" ? "GET" : request.method;
  const auto found = std::find_if(routes.begin(), routes.end(), [&](const Route& route) {
    return method == route.method && match(route.path, request.path);
  });
  return found == routes.end() ? nullptr : &*found;
}

HttpReply call_route(std::span<const Route> routes, const Api& api,
                     const http::HttpRequest& request) {
  if (const Route* route = find_route(routes, request)) {
    const std::string name = unknown_query(*route, request);
    if (!name.empty()) return unknown(*route, name);
    return route->answer(api, ApiRequest{request, *match(route->path, request.path)});
  }
  std::vector<std::string> allowed;
  for (const Route& route : routes) {
    if (match(route.path, request.path)) allowed.emplace_back(route.method);
  }
  if (allowed.empty()) {
    return {http::error_response(404, "not_found", cat("there is no ", request.path))};
  }
  http::HttpResponse out =
      http::error_response(405, "wrong_method", cat(request.path, " takes ", join(allowed, ", ")));
  out.headers.emplace_back("Allow", join(allowed, ", "));
  return {std::move(out)};
}

}  // namespace rtrain::dash
