#include "host/tls/certificate.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <array>

#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/tls/library.h"
#include "host/tls/session.h"

namespace rtrain::tls {
namespace {

template <auto Free>
struct FreeBy {
  template <class T>
  void operator()(T* object) const {
    Free(object);
  }
};
using BioPointer = std::unique_ptr<BIO, FreeBy<BIO_free_all>>;
using CertificatePointer = std::unique_ptr<X509, FreeBy<X509_free>>;
using KeyPointer = std::unique_ptr<EVP_PKEY, FreeBy<EVP_PKEY_free>>;
using NamesPointer = std::unique_ptr<GENERAL_NAMES, FreeBy<GENERAL_NAMES_free>>;

[[noreturn]] void refuse(std::string_view what) {
  const char* reason = ERR_reason_error_string(ERR_peek_last_error());
  std::string text = cat(what, reason == nullptr ? "" : cat(" (", std::string(reason), ")"));
  ERR_clear_error();
  throw Error(Code::kUsage, std::move(text));
}

BioPointer reader(const std::string& bytes) {
  BioPointer out(BIO_new_mem_buf(bytes.data(), static_cast<int>(bytes.size())));
  RT_CHECK(out != nullptr);
  return out;
}

// A server that starts by itself cannot ask a user.
int no_password(char*, int, int, void*) { return -1; }

CertificatePointer next_certificate(BIO* bio) {
  return CertificatePointer(PEM_read_bio_X509(bio, nullptr, no_password, nullptr));
}

std::string bytes_of(const ASN1_STRING* string) {
  const auto* data = reinterpret_cast<const char*>(ASN1_STRING_get0_data(string));
  return {data, static_cast<size_t>(ASN1_STRING_length(string))};
}

std::string address_of(const std::string& bytes) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const int family = bytes.size() == sizeof(in_addr) ? AF_INET : AF_INET6;
  if (family == AF_INET6 && bytes.size() != sizeof(in6_addr)) return "";
  if (inet_ntop(family, bytes.data(), text.data(), text.size()) == nullptr) return "";
  return family == AF_INET ? text.data() : cat("[", std::string(text.data()), "]");
}

}  // namespace

OpenSslCertificate::OpenSslCertificate(const std::string& certificates, const std::string& key)
    : context_(SSL_CTX_new_ex(TlsLibrary::get().context(), nullptr, TLS_server_method()),
               SSL_CTX_free) {
  SSL_CTX* context = context_.get();
  RT_CHECK(context != nullptr && SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) == 1);
  SSL_CTX_set_num_tickets(context, 0);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
  ERR_clear_error();
  use_certificates(certificates);
  use_key(key);
}

void OpenSslCertificate::use_certificates(const std::string& pem) {
  const BioPointer bio = reader(pem);
  const CertificatePointer own = next_certificate(bio.get());
  if (!own) refuse("the file has no certificate in PEM");
  if (X509_cmp_current_time(X509_get0_notAfter(own.get())) < 0) refuse("it has expired");
  if (SSL_CTX_use_certificate(context_.get(), own.get()) != 1) refuse("it cannot be used");
  find_names(own.get());
  while (CertificatePointer above = next_certificate(bio.get())) {
    if (SSL_CTX_add1_chain_cert(context_.get(), above.get()) != 1)
      refuse("its chain cannot be used");
  }
  ERR_clear_error();  // the end of the file
}

void OpenSslCertificate::use_key(const std::string& pem) {
  const BioPointer bio = reader(pem);
  OSSL_LIB_CTX* library = TlsLibrary::get().context();
  const KeyPointer key(
      PEM_read_bio_PrivateKey_ex(bio.get(), nullptr, no_password, nullptr, library, nullptr));
  if (!key) refuse("the key's file has no private key in PEM, or one with a password");
  // Also compares it with the certificate.
  if (SSL_CTX_use_PrivateKey(context_.get(), key.get()) != 1) {
    refuse("the key is not that of the certificate");
  }
}

void OpenSslCertificate::find_names(const X509* certificate) {
  const NamesPointer names(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  for (int i = 0; names && i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names.get(), i);
    if (name->type == GEN_DNS) names_.push_back(bytes_of(name->d.dNSName));
    if (name->type == GEN_IPADD) names_.push_back(address_of(bytes_of(name->d.iPAddress)));
  }
}

std::unique_ptr<wire::TlsSession> OpenSslCertificate::session() const {
  return std::make_unique<OpenSslSession>(*context_);
}

}  // namespace rtrain::tls
