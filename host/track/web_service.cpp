#include "host/track/web_service.h"

#include "host/base/clock.h"
#include "host/base/error.h"
#include "host/base/text/base64.h"
#include "host/base/text/text.h"
#include "host/wire/http_client.h"

namespace rtrain::track {
namespace {

constexpr double kTimeoutSeconds = 10;
constexpr size_t kMostShown = 300;  // bytes of an answer in a message

// Statuses with which a server asks to try again later, or that a change of the settings mends.
bool is_temporary(int status) {
  return status >= 500 || status == 401 || status == 403 || status == 408 || status == 429;
}

}  // namespace

WebService::WebService(std::string name, std::string url, const Value& options)
    : name_(std::move(name)),
      url_(std::move(url)),
      verify_(!options["insecure_tls"].bool_or(false)),
      timeout_s_(options["timeout_s"].is_nil() ? kTimeoutSeconds
                                               : options["timeout_s"].as_float()) {
  while (url_.ends_with('/')) url_.pop_back();
  const std::string token = options["token"].string_or("");
  const std::string user = options["username"].string_or("");
  if (!token.empty()) {
    headers_.emplace_back("Authorization", cat("Bearer ", token));
  } else if (!user.empty()) {
    const std::string both = cat(user, ":", options["password"].string_or(""));
    headers_.emplace_back("Authorization", cat("Basic ", to_base64(both)));
  }
  if (options["headers"].is_nil()) return;
  for (const auto& [key, value] : options["headers"].as_map()) {
    headers_.emplace_back(key_text(key), value.as_string());
  }
}

std::string WebService::call(const std::string& method, const std::string& path, std::string body,
                             std::string_view type) const {
  wire::HttpCall call{.method = method,
                      .url = url_ + path,
                      .headers = headers_,
                      .body = std::move(body),
                      .verify = verify_,
                      .timeout = to_ms(timeout_s_)};
  call.headers.emplace_back("Content-Type", type);
  wire::HttpAnswer answer = wire::http_call(call);
  if (answer.status >= 200 && answer.status < 300) return std::move(answer.body);
  const Code code = is_temporary(answer.status) ? Code::kEnvironment
                    : answer.status == 404      ? Code::kNotFound
                                                : Code::kArgument;
  throw Error(code, cat(name_, " at ", url_, " answered ", answer.status, " to ", method, " ",
                        path.empty() ? "/" : path.substr(0, path.find('?')), ": ",
                        answer.body.substr(0, kMostShown)));
}

}  // namespace rtrain::track
