// host/http/http_response.h: one answer, and its bytes. Pure.
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
  std::shared_ptr<const FileBody> file = nullptr;  // in place of the body
};

// The data of an answer: its bytes, then a part of a file.
struct SentResponse {
  std::string bytes;
  std::shared_ptr<const FileBody> file = nullptr;  // null where the part is empty
  ByteRange part = {};
};

HttpResponse json_response(const Value& document);
// {error: {code, message}}.
HttpResponse error_response(int status, std::string_view code, std::string_view message);

// Head and body as they are sent. A GET that has the answer already (If-None-Match) gets 304, one
// that takes gzip a compressed body, where that is worth it. Of a file it may ask for a part
// (Range, If-Range): 206, or 416 where there is none. Every answer has the headers that keep other
// sites out.
SentResponse sent_response(const HttpRequest& request, HttpResponse response, bool keep_alive);

// The head of an answer whose events come one by one, until the connection is closed.
std::string event_stream_head();

}  // namespace rtrain::http
