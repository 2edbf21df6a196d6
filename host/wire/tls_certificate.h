// host/wire/tls_certificate.h: a server's certificate with its key, and TLS 1.3 sessions with it
// for those who know no key of ours: browsers.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "host/wire/tls_session.h"

namespace rtrain::wire {

class TlsCertificate {
 public:
  // From PEM: the certificate first, those that lead to its authority behind it. Throws
  // Error(kUsage) that says what is wrong with which of the two, among other things that the key is
  // another certificate's.
  static std::unique_ptr<TlsCertificate> parse(const std::string& certificates,
                                               const std::string& key);
  virtual ~TlsCertificate() = default;

  // The names and numeric addresses that it is for; "*.example.org" stands for one label.
  virtual const std::vector<std::string>& names() const = 0;
  // A server's end of a connection. May outlive this.
  virtual std::unique_ptr<TlsSession> session() const = 0;
};

}  // namespace rtrain::wire
