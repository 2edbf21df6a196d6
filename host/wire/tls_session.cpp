#include "host/wire/tls_session.h"

#include "host/lua/embedded_library.h"

extern "C" {
extern const unsigned char rtrain_tls_image_begin[];
extern const unsigned char rtrain_tls_image_end[];
}

namespace rtrain {
namespace {

const TlsApi* load_api() {
  static EmbeddedLibrary library(
      {"rtrain-tls", rtrain_tls_image_begin, rtrain_tls_image_end, "RTRAIN_TLS_MODULE"});
  return reinterpret_cast<const TlsApi* (*)()>(library.load("rtrain_tls_api"))();
}

}  // namespace

const TlsApi& tls_api() {
  static const TlsApi* const api = load_api();
  return *api;
}

std::unique_ptr<TlsSession> TlsSession::client(const WireKey& key) { return tls_api().client(key); }

std::unique_ptr<TlsSession> TlsSession::server(FindKey find_key) {
  return tls_api().server(std::move(find_key));
}

}  // namespace rtrain
