// host/tls/certificate.h: a TlsCertificate over OpenSSL.
#pragma once

#include <openssl/types.h>

#include <memory>
#include <string>
#include <vector>

#include "host/wire/tls_certificate.h"

namespace rtrain::tls {

class OpenSslCertificate final : public wire::TlsCertificate {
 public:
  // As TlsCertificate::parse.
  OpenSslCertificate(const std::string& certificates, const std::string& key);

  const std::vector<std::string>& names() const override { return names_; }
  std::unique_ptr<wire::TlsSession> session() const override;

 private:
  void use_certificates(const std::string& pem);
  void use_key(const std::string& pem);
  void find_names(const X509* certificate);

  std::unique_ptr<SSL_CTX, void (*)(SSL_CTX*)> context_;
  std::vector<std::string> names_;
};

}  // namespace rtrain::tls
