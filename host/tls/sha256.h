// host/tls/sha256.h: SHA-256 by OpenSSL.
#pragma once

#include <string>
#include <string_view>

namespace rtrain::tls {

// The digest in hexadecimal digits.
std::string sha256(std::string_view bytes);

}  // namespace rtrain::tls
