#include "host/tls/certificate.h"
#include "host/tls/hkdf.h"
#include "host/tls/session.h"
#include "host/tls/sha256.h"

namespace rtrain::tls {
namespace {

std::unique_ptr<wire::TlsSession> make_client(const wire::WireKey& key) {
  return std::make_unique<OpenSslSession>(key);
}

std::unique_ptr<wire::TlsSession> make_server(wire::TlsSession::FindKey find_key) {
  return std::make_unique<OpenSslSession>(std::move(find_key));
}

constexpr wire::TlsApi kApi{
    .client = make_client, .server = make_server, .hkdf_sha256 = hkdf_sha256, .sha256 = sha256};

}  // namespace
}  // namespace rtrain::tls

// What host/wire/tls_session.cpp and tls_certificate.cpp ask the library for.
extern "C" __attribute__((visibility("default"))) const rtrain::wire::TlsApi* rtrain_tls_api() {
  return &rtrain::tls::kApi;
}

extern "C" __attribute__((visibility("default"))) rtrain::wire::TlsCertificate* rtrain_tls_parse(
    const std::string& certificates, const std::string& key) {
  return std::make_unique<rtrain::tls::OpenSslCertificate>(certificates, key).release();
}
