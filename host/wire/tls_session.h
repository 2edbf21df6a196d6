// host/wire/tls_session.h: one end of a TLS 1.3 connection with a pre-shared key, from bytes to
// bytes.
//
// Knows no socket and no loop: the owner feeds what has arrived, reads what it says, and sends what
// output() holds. Both sides prove that they have the key before a byte of plain text comes out.
#pragma once

#include <openssl/types.h>

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "host/loop/byte_queue.h"
#include "host/wire/secret.h"

namespace rtrain {

// Why a handshake failed.
enum class TlsFailure {
  kNone,
  kNotTls,      // the peer speaks something else, or another version of TLS
  kNoKey,       // the peer offers or accepts no pre-shared key
  kUnknownRun,  // a client: for a run that is not the server's; a server: it has no such key
  kWrongKey,
  kBroken,  // bytes that were changed, left out or replayed, or any other error
};

class TlsSession {
 public:
  // The key of the client that gives this identity; nothing when the server has none.
  using FindKey = std::function<std::optional<WireKey>(std::string_view identity)>;

  // A client's end: output() has its first bytes at once.
  explicit TlsSession(const WireKey& key);
  // A server's end.
  explicit TlsSession(FindKey find_key);
  ~TlsSession();
  TlsSession(const TlsSession&) = delete;
  TlsSession& operator=(const TlsSession&) = delete;

  // Takes bytes of the peer, which stay the caller's and must stay as they are until read() has
  // returned 0. Goes on with the handshake.
  void feed(std::string_view bytes);
  // Copies out decrypted bytes; 0 when there are no more for now, or after a failure.
  size_t read(char* to, size_t size);
  // Encrypts. REQUIRES: is_established().
  void write(std::string_view plain);
  // What is to be sent to the peer, also after a failure: the alert that says why.
  ByteQueue& output() { return output_; }
  size_t unsent_bytes() const { return output_.bytes().size(); }

  bool is_established() const { return established_; }
  TlsFailure failure() const { return failure_; }
  // OpenSSL's words, for a message; empty without a failure.
  const std::string& failure_text() const { return failure_text_; }
  // The name of the key: a client's own, at a server what the client has asked for.
  const std::string& identity() const { return key_.identity; }

 private:
  struct Bio;      // OpenSSL's way to the two queues
  struct KeyCall;  // OpenSSL's questions for the key
  explicit TlsSession(SSL_CTX* context);
  void advance_handshake();
  void fail();
  TlsFailure failure_of(int reason) const;

  SSL* ssl_;
  std::string_view input_;
  ByteQueue output_;
  FindKey find_key_;       // a server's
  WireKey key_;            // without its bytes once the handshake is over
  bool is_asked_ = false;  // the client has offered a key
  bool established_ = false;
  TlsFailure failure_ = TlsFailure::kNone;
  std::string failure_text_;
};

}  // namespace rtrain
