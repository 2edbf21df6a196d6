#include "host/dash/api/route.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "host/base/codec/json.h"
#include "host/base/error.h"
#include "host/base/text/text.h"

namespace rtrain::dash {
namespace {

// Returns the run in the path; nothing if the path does not match.
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

std::vector<std::string> names_of(const std::vector<Parameter>& parameters) {
  std::vector<std::string> out;
  for (const Parameter& each : parameters) out.emplace_back(each.name);
  return out;
}

bool has(const std::vector<Parameter>& parameters, const std::string& name) {
  return std::any_of(parameters.begin(), parameters.end(),
                     [&](const Parameter& each) { return name == each.name; });
}

// Returns a name in the query that the route does not know; "" without one.
std::string unknown_query(const Route& route, const http::HttpRequest& request) {
  for (const std::string& name : request.query.names()) {
    if (name != "token" && !has(route.queries, name)) return name;
  }
  return "";
}

HttpReply unknown(const Route& route, const std::string& name) {
  return {http::error_response(400, "usage",
                               cat(route.path, " has no parameter '", name, "'",
                                   suggestion(name, names_of(route.queries))))};
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
  Value out;
  try {
    out = from_json(request.body);
  } catch (const Error& e) {
    throw Error(Code::kUsage, cat("the body: ", e.message()));
  }
  if (!out.is_map()) throw Error(Code::kUsage, "the body is not a JSON object");
  for (const auto& [key, value] : out.as_map()) {
    const auto* name = std::get_if<std::string>(&key);
    if (name != nullptr && has(route.body, *name)) continue;
    const std::string given = name != nullptr ? *name : "";
    throw Error(Code::kUsage,
                cat("the body has no '", given, "'", suggestion(given, names_of(route.body))));
  }
  return out;
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
    return route->answer(api, ApiRequest{request, *route, *match(route->path, request.path)});
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
