#include "host/http/http_request.h"

#include "host/base/text/text.h"

namespace rtrain::http {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Decodes %XX; in a query "+" is a space. Returns nothing for an invalid escape and for a NUL.
std::optional<std::string> unescaped(std::string_view text, bool in_query) {
  constexpr size_t kEscape = 3;
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '%') {
      if (i + kEscape > text.size()) return std::nullopt;
      const int high = hex_digit(text[i + 1]);
      const int low = hex_digit(text[i + 2]);
      if (high < 0 || low < 0) return std::nullopt;
      c = static_cast<char>(high * 16 + low);
      i += kEscape - 1;
    } else if (c == '+' && in_query) {
      c = ' ';
    }
    if (c == '\0') return std::nullopt;
    out.push_back(c);
  }
  return out;
}

}  // namespace

void HttpQuery::add(std::string name, std::string value) {
  pairs_.emplace_back(std::move(name), std::move(value));
}

std::optional<std::string> HttpQuery::find(std::string_view name) const {
  std::optional<std::string> out;
  for (const auto& [key, value] : pairs_) {
    if (key == name) out = value;
  }
  return out;
}

std::vector<std::string> HttpQuery::all(std::string_view name) const {
  std::vector<std::string> out;
  for (const auto& [key, value] : pairs_) {
    if (key == name) out.push_back(value);
  }
  return out;
}

std::vector<std::string> HttpQuery::names() const {
  std::vector<std::string> out;
  for (const auto& pair : pairs_) out.push_back(pair.first);
  return out;
}

std::optional<HttpTarget> parse_target(std::string_view target) {
  const size_t mark = target.find('?');
  auto path = unescaped(target.substr(0, mark), false);
  if (!path || !path->starts_with("/")) return std::nullopt;
  HttpTarget out{.path = std::move(*path), .query = {}};
  if (mark == std::string_view::npos) return out;
  for (const std::string& pair : split(target.substr(mark + 1), '&')) {
    if (pair.empty()) continue;
    const size_t equals = pair.find('=');
    const std::string_view value = equals == std::string::npos
                                       ? std::string_view()
                                       : std::string_view(pair).substr(equals + 1);
    auto name = unescaped(std::string_view(pair).substr(0, equals), true);
    auto text = unescaped(value, true);
    if (!name || !text) return std::nullopt;
    out.query.add(std::move(*name), std::move(*text));
  }
  return out;
}

const std::string& HttpRequest::header(const std::string& name) const {
  static const std::string kNone;
  const auto found = headers.find(name);
  return found == headers.end() ? kNone : found->second;
}

std::string HttpRequest::cookie(std::string_view name) const {
  for (const std::string& part : split(header("cookie"), ';')) {
    const std::string_view pair = trim(part);
    if (pair.starts_with(name) && pair.substr(name.size()).starts_with("=")) {
      return std::string(pair.substr(name.size() + 1));
    }
  }
  return "";
}

std::string_view HttpRequest::bearer() const {
  constexpr std::string_view kBearer = "Bearer ";
  const std::string_view text = header("authorization");
  return text.starts_with(kBearer) ? text.substr(kBearer.size()) : std::string_view();
}

}  // namespace rtrain::http
