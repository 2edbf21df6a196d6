// host/tls/library.h: OpenSSL with its settings, which all TLS sessions of the process share.
//
// OpenSSL is used as it is linked: it reads no configuration file of the node, loads no provider of
// it, and registers nothing for the process's exit. Any thread.
#pragma once

#include <openssl/types.h>

namespace rtrain::tls {

class TlsLibrary {
 public:
  // Throws Error(kInternal) when OpenSSL cannot be set up.
  static TlsLibrary& get();

  OSSL_LIB_CTX* context() const { return context_; }
  // TLS 1.3 with a pre-shared key and a fresh Diffie-Hellman exchange, nothing else: no
  // certificates, no session tickets, no early data.
  SSL_CTX* server() const { return server_; }
  SSL_CTX* client() const { return client_; }

 private:
  TlsLibrary();
  OSSL_LIB_CTX* context_;
  SSL_CTX* server_;
  SSL_CTX* client_;
};

}  // namespace rtrain::tls
