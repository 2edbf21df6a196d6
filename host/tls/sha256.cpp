#include "host/tls/sha256.h"

#include <openssl/evp.h>

#include <array>

#include "host/base/error.h"
#include "host/base/text/hex.h"
#include "host/tls/library.h"

namespace rtrain::tls {

std::string sha256(std::string_view bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
  size_t size = 0;
  RT_CHECK(EVP_Q_digest(TlsLibrary::get().context(), "SHA256", nullptr, bytes.data(), bytes.size(),
                        digest.data(), &size) == 1);
  return to_hex(std::string_view(reinterpret_cast<const char*>(digest.data()), size));
}

}  // namespace rtrain::tls
