#include "host/tls/certificate.h"
#include "host/tls/hkdf.h"
#include "host/tls/session.h"

namespace rtrain {
namespace {

std::unique_ptr<TlsSession> make_client(const WireKey& key) {
  return std::make_unique<OpenSslSession>(key);
}

std::unique_ptr<TlsSession> make_server(TlsSession::FindKey find_key) {
  return std::make_unique<OpenSslSession>(std::move(find_key));
}

constexpr TlsApi kApi{.client = make_client, .server = make_server, .hkdf_sha256 = hkdf_sha256};

}  // namespace
}  // namespace rtrain

// What host/wire/tls_session.cpp and tls_certificate.cpp ask the library for.
extern "C" __attribute__((visibility("default"))) const rtrain::TlsApi* rtrain_tls_api() {
  return &rtrain::kApi;
}

extern "C" __attribute__((visibility("default"))) rtrain::TlsCertificate* rtrain_tls_parse(
    const std::string& certificates, const std::string& key) {
  return std::make_unique<rtrain::OpenSslCertificate>(certificates, key).release();
}
