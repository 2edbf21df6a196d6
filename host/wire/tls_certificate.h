// host/wire/tls_certificate.h: a server's certificate with its key, and TLS 1.3 sessions with it,
// for browsers, which have no pre-shared key.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "host/wire/tls_session.h"

namespace rtrain::wire {

class TlsCertificate {
 public:
  // Reads PEM: the server's certificate first, then those of its authorities. Throws Error(kUsage),
  // which says whether the certificates or the key are wrong and why, also for a key that belongs
  // to another certificate.
  static std::unique_ptr<TlsCertificate> parse(const std::string& certificates,
                                               const std::string& key);
  virtual ~TlsCertificate() = default;

  // The names and numeric addresses of the certificate; the * of "*.example.org" is one label.
  virtual const std::vector<std::string>& names() const = 0;
  // Returns the server's end of a new connection. It may outlive this object.
  virtual std::unique_ptr<TlsSession> session() const = 0;
};

}  // namespace rtrain::wire
