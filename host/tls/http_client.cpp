#include "host/wire/http_client.h"

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <array>
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl/ssl_stream.hpp>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string_view>

#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/tls/library.h"

namespace rtrain::tls {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using boost::system::error_code;

constexpr uint64_t kMaxAnswerBytes = uint64_t{16} << 20;

// Where distributions keep the certificates of the authorities that they trust.
constexpr std::array kAuthorityFiles = {"/etc/ssl/certs/ca-certificates.crt",
                                        "/etc/pki/tls/certs/ca-bundle.crt",
                                        "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"};

struct Url {
  bool is_tls = false;
  std::string host;
  std::string port;
  std::string target;
};

Url parse_url(const std::string& url) {
  const auto refuse = [&]() -> Error {
    return {Code::kArgument, cat("'", url, "' is not a URL: expected http://HOST:PORT/PATH")};
  };
  Url out;
  const size_t scheme = url.find("://");
  if (scheme == std::string::npos) throw refuse();
  out.is_tls = url.substr(0, scheme) == "https";
  if (!out.is_tls && url.substr(0, scheme) != "http") throw refuse();
  const size_t begin = scheme + 3;
  const size_t end = std::min(url.find('/', begin), url.size());
  std::string place = url.substr(begin, end - begin);
  out.target = end == url.size() ? "/" : url.substr(end);
  const size_t bracket = place.starts_with('[') ? place.find(']') : 0;
  if (bracket == std::string::npos) throw refuse();
  const size_t colon = place.find(':', bracket);
  out.port = colon == std::string::npos ? (out.is_tls ? "443" : "80") : place.substr(colon + 1);
  out.host = place.substr(0, colon);
  if (bracket > 0) out.host = out.host.substr(1, bracket - 1);
  const bool is_port = !out.port.empty() && out.port.size() <= 5 &&
                       out.port.find_first_not_of("0123456789") == std::string::npos;
  if (out.host.empty() || !is_port || url.find_first_of(" \r\n") != std::string::npos ||
      out.host.find('@') != std::string::npos) {
    throw refuse();
  }
  return out;
}

asio::ssl::context make_context(bool verify) {
  asio::ssl::context out(asio::ssl::context::tls_client);
  SSL_CTX_set_min_proto_version(out.native_handle(), TLS1_2_VERSION);
  if (!verify) return out;
  out.set_verify_mode(asio::ssl::verify_peer);
  const char* given = std::getenv("SSL_CERT_FILE");
  error_code ignored;
  if (given != nullptr) out.load_verify_file(given, ignored);
  for (const char* file : kAuthorityFiles) {
    if (given == nullptr && std::filesystem::exists(file)) {
      out.load_verify_file(file, ignored);
      break;
    }
  }
  return out;
}

// One call. Each step runs the context until the step or the deadline ends it.
class Call {
 public:
  explicit Call(const wire::HttpCall& call)
      : call_(call),
        url_(parse_url(call.url)),
        deadline_(std::chrono::steady_clock::now() + call.timeout) {}

  wire::HttpAnswer run() {
    if (!url_.is_tls) {
      beast::tcp_stream stream(context_);
      connect(stream);
      return exchange(stream);
    }
    asio::ssl::context tls = make_context(call_.verify);
    beast::ssl_stream<beast::tcp_stream> stream(context_, tls);
    SSL_set_tlsext_host_name(stream.native_handle(), url_.host.c_str());
    if (call_.verify) {
      // A name or a numeric address.
      X509_VERIFY_PARAM* const checks = SSL_get0_param(stream.native_handle());
      if (X509_VERIFY_PARAM_set1_ip_asc(checks, url_.host.c_str()) != 1) {
        SSL_set1_host(stream.native_handle(), url_.host.c_str());
      }
    }
    connect(stream.next_layer());
    wait("make a TLS connection",
         [&](const auto& done) { stream.async_handshake(asio::ssl::stream_base::client, done); });
    return exchange(stream);
  }

 private:
  // Runs `start(done)` to its end. Throws for an error, also the deadline's.
  template <class Start>
  void wait(std::string_view what, const Start& start) {
    std::optional<error_code> result;
    start([&](const error_code& error, auto&&...) { result = error; });
    context_.restart();
    while (!result && std::chrono::steady_clock::now() < deadline_) {
      context_.run_one_until(deadline_);
    }
    if (result && !*result) return;
    const std::string reason = result && *result != beast::error::timeout
                                   ? result->message()
                                   : cat("no answer within ", call_.timeout.count() / 1000, " s");
    throw Error(Code::kEnvironment,
                cat("cannot ", what, " to ", url_.host, ":", url_.port, ": ", reason));
  }

  void connect(beast::tcp_stream& stream) {
    asio::ip::tcp::resolver resolver(context_);
    asio::ip::tcp::resolver::results_type found;
    wait("find the address", [&](const auto& done) {
      resolver.async_resolve(url_.host, url_.port,
                             [&found, done](const error_code& error, const auto& results) {
                               found = results;
                               done(error);
                             });
    });
    stream.expires_at(deadline_);
    wait("connect", [&](const auto& done) { stream.async_connect(found, done); });
  }

  template <class Stream>
  wire::HttpAnswer exchange(Stream& stream) {
    http::request<http::string_body> request;
    request.method_string(call_.method);
    request.target(url_.target);
    request.version(11);
    request.set(
        http::field::host,
        url_.host + (url_.port == "80" || url_.port == "443" ? std::string() : ":" + url_.port));
    request.set(http::field::user_agent, "rtrain");
    request.set(http::field::connection, "close");
    for (const auto& [name, value] : call_.headers) request.set(name, value);
    request.body() = call_.body;
    request.prepare_payload();
    wait("send a request", [&](const auto& done) { http::async_write(stream, request, done); });
    beast::flat_buffer buffer;
    http::response_parser<http::string_body> parser;
    parser.body_limit(kMaxAnswerBytes);
    wait("get an answer from a request",
         [&](const auto& done) { http::async_read(stream, buffer, parser, done); });
    return {.status = static_cast<int>(parser.get().result_int()),
            .body = std::move(parser.get().body())};
  }

  const wire::HttpCall& call_;
  const Url url_;
  const std::chrono::steady_clock::time_point deadline_;
  asio::io_context context_;
};

}  // namespace
}  // namespace rtrain::tls

// What host/wire/http_client.cpp asks the library for.
extern "C" __attribute__((visibility("default"))) void rtrain_http_call(
    const rtrain::wire::HttpCall& call, rtrain::wire::HttpAnswer& answer) {
  rtrain::tls::TlsLibrary::get();  // OpenSSL's settings, before Asio makes its own
  answer = rtrain::tls::Call(call).run();
}
