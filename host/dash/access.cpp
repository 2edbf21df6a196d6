#include "host/dash/access.h"

#include <algorithm>
#include <cctype>

#include "host/base/error.h"
#include "host/base/text.h"

namespace rtrain {
namespace {

// "[::1]" of "[::1]:8000", "localhost" of "LocalHost:8000".
std::string name_of(std::string_view host) {
  const size_t bracket = host.starts_with('[') ? host.find(']') : std::string_view::npos;
  const size_t colon = host.find(':', bracket == std::string_view::npos ? 0 : bracket);
  std::string out(host.substr(0, colon));
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

bool has_name(const std::vector<std::string>& names, std::string_view host) {
  return std::find(names.begin(), names.end(), name_of(host)) != names.end();
}

}  // namespace

bool is_same_secret(std::string_view a, std::string_view b) {
  if (a.size() != b.size() || a.empty()) return false;
  unsigned char differs = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    differs = static_cast<unsigned char>(differs | (a[i] ^ b[i]));
  }
  return differs == 0;
}

std::string checked_base_path(const std::string& path) {
  std::string_view inner = path;
  while (inner.starts_with('/')) inner.remove_prefix(1);
  while (inner.ends_with('/')) inner.remove_suffix(1);
  const bool is_fine = std::all_of(inner.begin(), inner.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.' || c == '/';
  });
  if (!is_fine || inner.find("..") != std::string_view::npos ||
      inner.find("//") != std::string_view::npos) {
    throw Error(Code::kUsage, cat("--base-path: '", path, "' is not a path like /rtrain"));
  }
  return inner.empty() ? "" : cat('/', inner);
}

bool Access::is_ours(std::string_view host) const {
  return has_name(options_.hosts, host) || has_name(options_.proxies, host);
}

// Sent by a page of another site, as the browser says.
bool Access::is_from_elsewhere(const HttpRequest& request) const {
  const std::string& origin = request.header("origin");
  if (!origin.empty()) {
    const size_t scheme = origin.find("://");
    if (scheme == std::string::npos) return true;  // "null"
    const std::string_view host = std::string_view(origin).substr(scheme + 3);
    // Another port of this host is another site too.
    if (host != request.header("host") && !has_name(options_.proxies, host)) return true;
  }
  const std::string& site = request.header("sec-fetch-site");
  const bool is_other_site = site == "cross-site" || site == "same-site";
  // A link may lead here: to a page, never to data.
  const bool is_visit =
      request.header("sec-fetch-mode") == "navigate" && request.path == "/" && !request.is_write();
  return is_other_site && !is_visit;
}

bool Access::has_bearer(const HttpRequest& request) const {
  constexpr std::string_view kBearer = "Bearer ";
  const std::string& header = request.header("authorization");
  return header.starts_with(kBearer) &&
         is_same_secret(std::string_view(header).substr(kBearer.size()), options_.token);
}

bool Access::has_token(const HttpRequest& request) const {
  return has_bearer(request) ||
         (!request.is_write() &&
          is_same_secret(request.query.find("token").value_or(""), options_.token)) ||
         is_same_secret(request.cookie(options_.cookie_name), options_.cookie);
}

std::optional<HttpResponse> Access::refuse(HttpRequest& request) const {
  if (!is_ours(request.header("host"))) {
    return error_response(421, "wrong_host",
                          "this is not a name of the dashboard; behind a proxy: rtrain dash "
                          "--allow-host NAME");
  }
  const std::string& base = options_.base_path;
  if (!base.empty()) {
    if (!request.path.starts_with(base + "/")) {
      return error_response(404, "not_found", cat("the dashboard is at ", base, "/"));
    }
    request.path.erase(0, base.size());
  }
  if (is_from_elsewhere(request)) {
    return error_response(403, "wrong_origin", "a page of another site may not ask for this");
  }
  if (!has_token(request)) {
    return error_response(401, "no_token", "open the address that rtrain dash has printed");
  }
  if (!request.is_write()) return std::nullopt;
  if (options_.read_only) {
    return error_response(403, "read_only", "rtrain dash was started with --read-only");
  }
  // A browser says from where it writes; what says nothing has to know the token itself.
  if (request.header("origin").empty() && !has_bearer(request)) {
    return error_response(403, "wrong_origin", "a request that changes something needs an Origin");
  }
  if (!request.header("content-type").starts_with(kJsonType)) {
    return error_response(415, "wrong_type", "a request that changes something has a JSON body");
  }
  return std::nullopt;
}

std::optional<std::string> Access::cookie_for(const HttpRequest& request) const {
  if (!is_same_secret(request.query.find("token").value_or(""), options_.token)) {
    return std::nullopt;
  }
  return cat(options_.cookie_name, "=", options_.cookie, "; Path=", options_.base_path,
             "/; HttpOnly; SameSite=Strict");
}

}  // namespace rtrain
