#include "host/tls/session.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

#include "host/base/error.h"
#include "host/tls/library.h"

namespace rtrain::tls {
namespace {

SSL_SESSION* new_session(SSL* ssl, const std::string& key) {
  constexpr std::array<unsigned char, 2> kAes128GcmSha256 = {0x13, 0x01};
  SSL_SESSION* out = SSL_SESSION_new();
  RT_CHECK(out != nullptr);
  SSL_SESSION_set1_master_key(out, reinterpret_cast<const unsigned char*>(key.data()), key.size());
  SSL_SESSION_set_cipher(out, SSL_CIPHER_find(ssl, kAes128GcmSha256.data()));
  SSL_SESSION_set_protocol_version(out, TLS1_3_VERSION);
  return out;
}

}  // namespace

struct OpenSslSession::Bio {
  static int read(BIO* bio, char* to, int size) {
    std::string_view& input = session(bio)->input_;
    BIO_clear_retry_flags(bio);
    if (input.empty()) {
      BIO_set_retry_read(bio);
      return -1;
    }
    const size_t n = std::min(input.size(), static_cast<size_t>(size));
    std::memcpy(to, input.data(), n);
    input.remove_prefix(n);
    return static_cast<int>(n);
  }

  static int write(BIO* bio, const char* from, int size) {
    BIO_clear_retry_flags(bio);
    session(bio)->output_.add({from, static_cast<size_t>(size)});
    return size;
  }

  static long control(BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH ? 1 : 0; }

  static int create(BIO* bio) {
    BIO_set_init(bio, 1);
    return 1;
  }

  static OpenSslSession* session(BIO* bio) {
    return static_cast<OpenSslSession*>(BIO_get_data(bio));
  }

  static BIO_METHOD* new_method() {
    BIO_METHOD* out = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "rtrain");
    BIO_meth_set_read(out, read);
    BIO_meth_set_write(out, write);
    BIO_meth_set_ctrl(out, control);
    BIO_meth_set_create(out, create);
    return out;
  }

  static BIO* make(OpenSslSession* session) {
    static BIO_METHOD* const method = new_method();
    BIO* out = BIO_new(method);
    RT_CHECK(out != nullptr);
    BIO_set_data(out, session);
    return out;
  }
};

struct OpenSslSession::KeyCall {
  static OpenSslSession* session(SSL* ssl) {
    return static_cast<OpenSslSession*>(SSL_get_app_data(ssl));
  }

  static int use(SSL* ssl, const EVP_MD*, const unsigned char** id, size_t* size,
                 SSL_SESSION** out) {
    const wire::WireKey& key = session(ssl)->key_;
    *id = reinterpret_cast<const unsigned char*>(key.identity.data());
    *size = key.identity.size();
    *out = new_session(ssl, key.bytes);
    return 1;
  }

  // An identity without a key: OpenSSL then looks for a certificate, and ends the handshake with an
  // alert.
  static int find(SSL* ssl, const unsigned char* id, size_t size, SSL_SESSION** out) {
    OpenSslSession* self = session(ssl);
    *out = nullptr;
    const std::string_view identity(reinterpret_cast<const char*>(id), size);
    self->is_asked_ = true;
    self->key_.identity = identity;
    try {
      if (const auto key = self->find_key_(identity)) *out = new_session(ssl, key->bytes);
    } catch (const std::exception&) {
      return 0;
    }
    return 1;
  }
};

OpenSslSession::OpenSslSession(SSL_CTX* context) : ssl_(SSL_new(context)) {
  RT_CHECK(ssl_ != nullptr);
  SSL_set_app_data(ssl_, this);
  BIO* bio = Bio::make(this);
  SSL_set_bio(ssl_, bio, bio);
}

OpenSslSession::OpenSslSession(const wire::WireKey& key)
    : OpenSslSession(TlsLibrary::get().client()) {
  key_ = key;
  SSL_set_psk_use_session_callback(ssl_, KeyCall::use);
  SSL_set_connect_state(ssl_);
  advance_handshake();
}

OpenSslSession::OpenSslSession(FindKey find_key) : OpenSslSession(TlsLibrary::get().server()) {
  find_key_ = std::move(find_key);
  SSL_set_psk_find_session_callback(ssl_, KeyCall::find);
  SSL_set_accept_state(ssl_);
}

OpenSslSession::OpenSslSession(SSL_CTX& certified) : OpenSslSession(&certified) {
  is_certified_ = true;
  SSL_set_accept_state(ssl_);
}

OpenSslSession::~OpenSslSession() { SSL_free(ssl_); }

void OpenSslSession::feed(std::string_view bytes) {
  input_ = bytes;
  if (!established_ && failure_ == wire::TlsFailure::kNone) advance_handshake();
}

void OpenSslSession::advance_handshake() {
  ERR_clear_error();
  const int result = SSL_do_handshake(ssl_);
  if (result != 1) {
    if (SSL_get_error(ssl_, result) != SSL_ERROR_WANT_READ) fail();
    return;
  }
  // The key was used: without a certificate there is nothing else to prove with.
  RT_CHECK(is_certified_ || SSL_session_reused(ssl_) == 1);
  established_ = true;
  key_ = wire::WireKey(key_.identity, "");
  find_key_ = nullptr;
}

size_t OpenSslSession::read(char* to, size_t size) {
  if (!established_ || failure_ != wire::TlsFailure::kNone) return 0;
  ERR_clear_error();
  size_t done = 0;
  const int result = SSL_read_ex(ssl_, to, size, &done);
  if (result == 1) return done;
  if (SSL_get_error(ssl_, result) != SSL_ERROR_WANT_READ) fail();
  return 0;
}

void OpenSslSession::write(std::string_view plain) {
  RT_CHECK(established_);
  if (plain.empty() || failure_ != wire::TlsFailure::kNone) return;
  ERR_clear_error();
  size_t done = 0;
  const int result = SSL_write_ex(ssl_, plain.data(), plain.size(), &done);
  if (result != 1) fail();
}

void OpenSslSession::fail() {
  const unsigned long error = ERR_peek_error();
  const char* text = ERR_reason_error_string(error);
  failure_ = failure_of(error == 0 ? 0 : ERR_GET_REASON(error));
  failure_text_ = text != nullptr ? text : "the peer ended TLS";
  ERR_clear_error();
}

wire::TlsFailure OpenSslSession::failure_of(int reason) const {
  const bool is_server = SSL_is_server(ssl_) == 1;
  switch (reason) {
    case SSL_R_HTTP_REQUEST:
    case SSL_R_HTTPS_PROXY_REQUEST:
    case SSL_R_WRONG_VERSION_NUMBER:
    case SSL_R_UNSUPPORTED_PROTOCOL:
    case SSL_R_UNEXPECTED_MESSAGE:
    case SSL_R_TLSV1_ALERT_PROTOCOL_VERSION:
      return wire::TlsFailure::kNotTls;
    case SSL_R_BINDER_DOES_NOT_VERIFY:
    case SSL_R_SSLV3_ALERT_ILLEGAL_PARAMETER:
      return wire::TlsFailure::kWrongKey;
    case SSL_R_DECRYPTION_FAILED_OR_BAD_RECORD_MAC:
      // A server without the key that acts as if it had it. A client's key is known to be right by
      // then: somebody repeats or changes its bytes.
      return is_server || established_ ? wire::TlsFailure::kBroken : wire::TlsFailure::kWrongKey;
    case SSL_R_NO_SUITABLE_SIGNATURE_ALGORITHM:
    case SSL_R_NO_SHARED_CIPHER:
      return is_asked_ ? wire::TlsFailure::kUnknownRun : wire::TlsFailure::kNoKey;
    case SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE:
      return wire::TlsFailure::kUnknownRun;
    case SSL_R_CERTIFICATE_VERIFY_FAILED:
      return wire::TlsFailure::kNoKey;
    default:
      return wire::TlsFailure::kBroken;
  }
}

}  // namespace rtrain::tls
