// host/tls/session.h: a TlsSession over OpenSSL.
#pragma once

#include <openssl/types.h>

#include <string>
#include <string_view>

#include "host/wire/tls_session.h"

namespace rtrain::tls {

class OpenSslSession final : public wire::TlsSession {
 public:
  explicit OpenSslSession(const wire::WireKey& key);
  explicit OpenSslSession(FindKey find_key);
  // A server's end with the certificate of the context, which it keeps.
  explicit OpenSslSession(SSL_CTX& certified);
  ~OpenSslSession() override;
  OpenSslSession(const OpenSslSession&) = delete;
  OpenSslSession& operator=(const OpenSslSession&) = delete;

  void feed(std::string_view bytes) override;
  size_t read(char* to, size_t size) override;
  void write(std::string_view plain) override;
  loop::ByteQueue& output() override { return output_; }
  bool is_established() const override { return established_; }
  wire::TlsFailure failure() const override { return failure_; }
  const std::string& failure_text() const override { return failure_text_; }
  const std::string& identity() const override { return key_.identity; }

 private:
  struct Bio;      // OpenSSL's way to the two queues
  struct KeyCall;  // OpenSSL's questions for the key
  explicit OpenSslSession(SSL_CTX* context);
  void advance_handshake();
  void fail();
  wire::TlsFailure failure_of(int reason) const;

  SSL* ssl_;
  std::string_view input_;
  loop::ByteQueue output_;
  FindKey find_key_;   // a server's
  wire::WireKey key_;  // without its bytes once the handshake is over
  bool is_certified_ = false;
  bool is_asked_ = false;  // the client has offered a key
  bool established_ = false;
  wire::TlsFailure failure_ = wire::TlsFailure::kNone;
  std::string failure_text_;
};

}  // namespace rtrain::tls
