// host/http/http_response.h: an answer, and its encoding as bytes. Pure.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host/base/value.h"
#include "host/http/file_body.h"
#include "host/http/http_request.h"

namespace rtrain::http {

inline constexpr const char* kJsonType = "application/json";
inline constexpr const char* kTextType = "text/plain; charset=utf-8";

struct HttpResponse {
  int status = 200;
  std::string type = kJsonType;
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::shared_ptr<const FileBody> file = nullptr;  // sent instead of the body
  bool has_parts = false;  // a request may ask for a part of the body, which is not compressed
  std::string style_nonce = {};  // of a style within the page, which its policy then allows
};

// The encoded answer: bytes, then a part of a file.
struct SentResponse {
  std::string bytes;
  std::shared_ptr<const FileBody> file = nullptr;  // null if the part is empty
  ByteRange part = {};
};

HttpResponse json_response(const Value& document);
// The body is {error: {code, message}}.
HttpResponse error_response(int status, std::string_view code, std::string_view message);

// Encodes head and body. A GET for an answer that the client already has (If-None-Match) gets 304.
// A client that accepts gzip gets a compressed body, if that saves enough. A request may ask for a
// part of a file or of a body that has parts (Range, If-Range): the answer is 206, or 416 if the
// part does not exist. Every answer has the headers that keep other sites out.
SentResponse sent_response(const HttpRequest& request, HttpResponse response, bool keep_alive);

// Returns the head of an answer whose events follow one by one, until the connection is closed.
std::string event_stream_head();

}  // namespace rtrain::http
