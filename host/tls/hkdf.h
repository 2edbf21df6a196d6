// host/tls/hkdf.h: HKDF with SHA-256 (RFC 5869) by OpenSSL.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace rtrain::tls {

// That many bytes made from a secret.
std::string hkdf_sha256(std::string_view secret, std::string_view salt, std::string_view info,
                        size_t num_bytes);

}  // namespace rtrain::tls
