#include "host/tls/hkdf.h"

#include <openssl/core_names.h>
#include <openssl/kdf.h>
#include <openssl/params.h>

#include <array>
#include <memory>

#include "host/base/error.h"
#include "host/tls/library.h"

namespace rtrain::tls {
namespace {

OSSL_PARAM octets(const char* name, std::string_view bytes) {
  return OSSL_PARAM_construct_octet_string(name, const_cast<char*>(bytes.data()), bytes.size());
}

}  // namespace

std::string hkdf_sha256(std::string_view secret, std::string_view salt, std::string_view info,
                        size_t num_bytes) {
  const std::unique_ptr<EVP_KDF, decltype(&EVP_KDF_free)> hkdf(
      EVP_KDF_fetch(TlsLibrary::get().context(), "HKDF", nullptr), EVP_KDF_free);
  const std::unique_ptr<EVP_KDF_CTX, decltype(&EVP_KDF_CTX_free)> derivation(
      EVP_KDF_CTX_new(hkdf.get()), EVP_KDF_CTX_free);
  std::string digest = "SHA256";
  const std::array<OSSL_PARAM, 5> params = {
      OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest.data(), 0),
      octets(OSSL_KDF_PARAM_KEY, secret), octets(OSSL_KDF_PARAM_SALT, salt),
      octets(OSSL_KDF_PARAM_INFO, info), OSSL_PARAM_construct_end()};
  std::string out(num_bytes, '\0');
  RT_CHECK(EVP_KDF_derive(derivation.get(), reinterpret_cast<unsigned char*>(out.data()),
                          out.size(), params.data()) == 1);
  return out;
}

}  // namespace rtrain::tls
