#include "host/wire/secret.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/kdf.h>
#include <openssl/params.h>

#include <array>
#include <memory>
#include <utility>

#include "host/base/error.h"
#include "host/base/random.h"
#include "host/base/text.h"
#include "host/wire/tls_library.h"

namespace rtrain {
namespace {

constexpr size_t kKeyBytes = 32;
constexpr std::string_view kPrefix = "rtrain1/";  // another way to make keys has another number

void wipe(std::string& bytes) { OPENSSL_cleanse(bytes.data(), bytes.size()); }

OSSL_PARAM octets(const char* name, std::string_view bytes) {
  return OSSL_PARAM_construct_octet_string(name, const_cast<char*>(bytes.data()), bytes.size());
}

}  // namespace

WireKey::~WireKey() { wipe(bytes); }

std::string WireIdentity::text() const { return cat(kPrefix, role, "/", run_id); }

std::optional<WireIdentity> WireIdentity::parse(std::string_view text) {
  if (!text.starts_with(kPrefix)) return std::nullopt;
  text.remove_prefix(kPrefix.size());
  const size_t slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  return WireIdentity{.role = std::string(text.substr(0, slash)),
                      .run_id = std::string(text.substr(slash + 1))};
}

Secret::Secret(std::string bytes, std::string_view origin) : bytes_(std::move(bytes)) {
  if (bytes_.size() >= kMinBytes) return;
  throw Error(Code::kConfig,
              cat(origin, " holds ", bytes_.size(), " bytes, and a secret has at least ", kMinBytes,
                  ": make one with `openssl rand -hex 32`"));
}

Secret Secret::generate() { return {random_bytes(kMinBytes), "the kernel"}; }

Secret::~Secret() { wipe(bytes_); }

WireKey Secret::derive(const WireIdentity& identity) const {
  TlsLibrary& library = TlsLibrary::get();
  const std::unique_ptr<EVP_KDF, decltype(&EVP_KDF_free)> hkdf(
      EVP_KDF_fetch(library.context(), "HKDF", nullptr), EVP_KDF_free);
  const std::unique_ptr<EVP_KDF_CTX, decltype(&EVP_KDF_CTX_free)> derivation(
      EVP_KDF_CTX_new(hkdf.get()), EVP_KDF_CTX_free);
  const std::string name = identity.text();
  std::string digest = "SHA256";
  // Everyone's key of Secret::none() is made from a secret of zeros.
  const std::string none(kMinBytes, '\0');
  const std::array<OSSL_PARAM, 5> params = {
      OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest.data(), 0),
      octets(OSSL_KDF_PARAM_KEY, is_given() ? bytes_ : none),
      octets(OSSL_KDF_PARAM_SALT, "rtrain wire"), octets(OSSL_KDF_PARAM_INFO, name),
      OSSL_PARAM_construct_end()};
  std::string key(kKeyBytes, '\0');
  RT_CHECK(EVP_KDF_derive(derivation.get(), reinterpret_cast<unsigned char*>(key.data()),
                          key.size(), params.data()) == 1);
  return {name, std::move(key)};
}

}  // namespace rtrain
