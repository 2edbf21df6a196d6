#include "host/dash/server/access.h"

#include <algorithm>
#include <cctype>

#include "host/base/error.h"
#include "host/base/secrets.h"
#include "host/base/text/text.h"

namespace rtrain::dash {
namespace {

// Returns "[::1]" of "[::1]:8000", "localhost" of "LocalHost:8000".
std::string name_of(std::string_view host) {
  const size_t bracket = host.starts_with('[') ? host.find(']') : std::string_view::npos;
  const size_t colon = host.find(':', bracket == std::string_view::npos ? 0 : bracket);
  std::string out(host.substr(0, colon));
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

// "*.example.org" matches one label in place of the star, as in certificates.
bool is_named(std::string_view pattern, std::string_view name) {
  if (!pattern.starts_with("*.")) return pattern == name;
  const size_t dot = name.find('.');
  return dot != std::string_view::npos && dot > 0 && name.substr(dot) == pattern.substr(1);
}

bool has_name(const std::vector<std::string>& names, std::string_view host) {
  const std::string name = name_of(host);
  return std::any_of(names.begin(), names.end(),
                     [&](const std::string& each) { return is_named(name_of(each), name); });
}

// The token may be in a header, in the address of a request that only reads, or in the cookie.
bool has_key(const http::HttpRequest& request, const AccessKey& key,
             const std::string& cookie_name) {
  return is_same_secret(request.bearer(), key.token) ||
         (!request.is_write() &&
          is_same_secret(request.query.find("token").value_or(""), key.token)) ||
         is_same_secret(request.cookie(cookie_name), key.cookie);
}

}  // namespace

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

// Whether a page of another site sent it, according to the browser.
bool Access::is_from_elsewhere(const http::HttpRequest& request) const {
  const std::string& origin = request.header("origin");
  if (!origin.empty()) {
    const size_t scheme = origin.find("://");
    if (scheme == std::string::npos) return true;  // "null"
    const std::string_view host = std::string_view(origin).substr(scheme + 3);
    // Another port of this host counts as another site too.
    if (host != request.header("host") && !has_name(options_.proxies, host)) return true;
  }
  const std::string& site = request.header("sec-fetch-site");
  const bool is_other_site = site == "cross-site" || site == "same-site";
  // A link of another site may lead to the page, but not to data.
  const bool is_visit =
      request.header("sec-fetch-mode") == "navigate" && request.path == "/" && !request.is_write();
  return is_other_site && !is_visit;
}

std::optional<http::HttpResponse> Access::refuse(http::HttpRequest& request) const {
  if (!is_ours(request.header("host"))) {
    return http::error_response(421, "wrong_host",
                                "this is not a name of the dashboard; behind a proxy: rtrain dash "
                                "--allow-host NAME");
  }
  const std::string& base = options_.base_path;
  if (!base.empty()) {
    if (!request.path.starts_with(base + "/")) {
      return http::error_response(404, "not_found", cat("the dashboard is at ", base, "/"));
    }
    request.path.erase(0, base.size());
  }
  if (is_from_elsewhere(request)) {
    return http::error_response(403, "wrong_origin", "a page of another site may not ask for this");
  }
  const bool is_writer = has_key(request, options_.writer, options_.cookie_name);
  if (!is_writer && !has_key(request, options_.viewer, options_.cookie_name)) {
    return http::error_response(401, "no_token", "open the address that rtrain dash has printed");
  }
  request.may_write = is_writer && !options_.read_only;
  if (!request.is_write()) return std::nullopt;
  if (options_.read_only) {
    return http::error_response(403, "read_only", "rtrain dash was started with --read-only");
  }
  if (!is_writer) {
    return http::error_response(403, "read_only", "this address is for those who only look");
  }
  // Browsers send the Origin of a writing page. A client without one must send the token itself.
  if (request.header("origin").empty() && request.bearer().empty()) {
    return http::error_response(403, "wrong_origin",
                                "a request that changes something needs an Origin");
  }
  if (!request.header("content-type").starts_with(http::kJsonType)) {
    return http::error_response(415, "wrong_type",
                                "a request that changes something has a JSON body");
  }
  return std::nullopt;
}

std::optional<std::string> Access::cookie_for(const http::HttpRequest& request) const {
  const std::string token = request.query.find("token").value_or("");
  for (const AccessKey* key : {&options_.writer, &options_.viewer}) {
    if (!is_same_secret(token, key->token)) continue;
    return cat(options_.cookie_name, "=", key->cookie, "; Path=", options_.base_path,
               "/; HttpOnly; SameSite=Strict", options_.is_secure ? "; Secure" : "");
  }
  return std::nullopt;
}

}  // namespace rtrain::dash
