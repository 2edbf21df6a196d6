#include "host/http/http_parser.h"

#include <algorithm>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <cctype>

#include "host/loop/channel/byte_queue.h"

namespace rtrain::http {
namespace {

namespace http = boost::beast::http;
using Parser = http::request_parser<http::string_body>;

constexpr size_t kMaxFields = 100;

std::string lower_case(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

std::string_view view(boost::beast::string_view text) { return {text.data(), text.size()}; }

int status_of(const boost::beast::error_code& error) {
  if (error == http::error::header_limit || error == http::error::buffer_overflow) return 431;
  if (error == http::error::body_limit) return 413;
  return 400;
}

}  // namespace

struct HttpParser::State {
  loop::ByteQueue pending;
  std::optional<Parser> parser;
  int refused = 0;

  void begin() {
    parser.emplace();
    parser->eager(false);  // it stops after the header
    parser->header_limit(kMaxHeaderBytes);
    parser->body_limit(kMaxBodyBytes);
  }

  // Returns nothing, and sets `refused`, for requests that Beast accepts and we do not.
  std::optional<HttpRequest> taken() {
    const auto message = parser->release();
    const auto target = parse_target(view(message.target()));
    if (!target || message.version() != 11) {
      refused = 400;
      return std::nullopt;
    }
    HttpRequest out;
    out.method = view(message.method_string());
    out.path = target->path;
    out.query = target->query;
    out.body = message.body();
    out.keep_alive = message.keep_alive();
    size_t fields = 0;
    for (const auto& field : message) {
      if (++fields > kMaxFields) refused = 431;
      const std::string name = lower_case(view(field.name_string()));
      const bool is_new = out.headers.emplace(name, view(field.value())).second;
      // With two different hosts it is unknown which one a proxy has used.
      if (!is_new && name == "host") refused = 400;
    }
    if (refused != 0) return std::nullopt;
    return out;
  }
};

HttpParser::HttpParser() : state_(std::make_unique<State>()) { state_->begin(); }
HttpParser::~HttpParser() = default;

void HttpParser::feed(std::string_view bytes) { state_->pending.add(bytes); }

std::optional<HttpRequest> HttpParser::next() {
  State& state = *state_;
  while (state.refused == 0 && !state.pending.empty()) {
    const std::string_view bytes = state.pending.bytes();
    boost::beast::error_code error;
    const size_t used =
        state.parser->put(boost::asio::const_buffer(bytes.data(), bytes.size()), error);
    state.pending.del(used);
    if (error == http::error::need_more) {
      // Beast checks a header's size only when the header is complete.
      if (!state.parser->is_header_done() && state.pending.bytes().size() > kMaxHeaderBytes) {
        state.refused = 431;
      }
      return std::nullopt;
    }
    if (error) {
      state.refused = status_of(error);
      return std::nullopt;
    }
    if (state.parser->is_header_done() && state.parser->chunked()) {
      // No client needs chunks for us, and Beast 1.74 fails an assertion on some invalid chunks.
      state.refused = 400;
      return std::nullopt;
    }
    if (!state.parser->is_done()) {
      if (used == 0) return std::nullopt;
      state.parser->eager(true);
      continue;
    }
    auto request = state.taken();
    state.begin();
    return request;
  }
  return std::nullopt;
}

int HttpParser::refused() const { return state_->refused; }
size_t HttpParser::pending_bytes() const { return state_->pending.bytes().size(); }
bool HttpParser::is_within_request() const {
  return !state_->pending.empty() || state_->parser->got_some();
}

}  // namespace rtrain::http
