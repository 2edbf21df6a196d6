#include "host/tls/library.h"

#include <openssl/provider.h>
#include <openssl/ssl.h>

#include "host/base/error.h"

namespace rtrain::tls {
namespace {

SSL_CTX* new_context(OSSL_LIB_CTX* library, const SSL_METHOD* method) {
  SSL_CTX* out = SSL_CTX_new_ex(library, nullptr, method);
  RT_CHECK(out != nullptr);
  RT_CHECK(SSL_CTX_set_min_proto_version(out, TLS1_3_VERSION) == 1);
  RT_CHECK(SSL_CTX_set_ciphersuites(out, "TLS_AES_128_GCM_SHA256") == 1);
  SSL_CTX_set_num_tickets(out, 0);
  SSL_CTX_set_session_cache_mode(out, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_options(out, SSL_OP_NO_TICKET | SSL_OP_NO_COMPRESSION);
  // An idle connection keeps no buffers.
  SSL_CTX_set_mode(out, SSL_MODE_RELEASE_BUFFERS);
  return out;
}

}  // namespace

// For ever: a session may end with the process's last static objects.
TlsLibrary& TlsLibrary::get() {
  static auto* const library = new TlsLibrary;
  return *library;
}

TlsLibrary::TlsLibrary() {
  RT_CHECK(OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_ATEXIT, nullptr) == 1);
  context_ = OSSL_LIB_CTX_new();
  RT_CHECK(context_ != nullptr && OSSL_PROVIDER_load(context_, "default") != nullptr);
  server_ = new_context(context_, TLS_server_method());
  client_ = new_context(context_, TLS_client_method());
  // A server that answers with a certificate is a stranger: no authority is trusted.
  SSL_CTX_set_verify(client_, SSL_VERIFY_PEER, nullptr);
}

}  // namespace rtrain::tls
