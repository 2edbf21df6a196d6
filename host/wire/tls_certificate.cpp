#include "host/wire/tls_certificate.h"

#include "host/wire/tls_library.h"

namespace rtrain::wire {

std::unique_ptr<TlsCertificate> TlsCertificate::parse(const std::string& certificates,
                                                      const std::string& key) {
  using Parse = TlsCertificate* (*)(const std::string&, const std::string&);
  const auto parse = reinterpret_cast<Parse>(tls_symbol("rtrain_tls_parse"));
  return std::unique_ptr<TlsCertificate>(parse(certificates, key));
}

}  // namespace rtrain::wire
