// host/wire/tls_session.h: one end of a TLS 1.3 connection with a pre-shared key, from bytes to
// bytes; and what else librtrain_tls.so gives to the wire.
//
// Knows no socket and no loop: the owner feeds what has arrived, reads what it says, and sends what
// output() holds. Both sides prove that they have the key before a byte of plain text comes out.
// OpenSSL is in a library of its own (host/tls), which is loaded at the first session or key: a
// process without a wire does not pay for it.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "host/loop/channel/byte_queue.h"
#include "host/wire/wire_key.h"

namespace rtrain::wire {

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
  static std::unique_ptr<TlsSession> client(const WireKey& key);
  static std::unique_ptr<TlsSession> server(FindKey find_key);
  virtual ~TlsSession() = default;

  // Takes bytes of the peer, which stay the caller's and must stay as they are until read() has
  // returned 0. Continues with the handshake.
  virtual void feed(std::string_view bytes) = 0;
  // Copies out decrypted bytes; 0 when there are no more for now, or after a failure.
  virtual size_t read(char* to, size_t size) = 0;
  // Encrypts. REQUIRES: is_established().
  virtual void write(std::string_view plain) = 0;
  // What is to be sent to the peer, also after a failure: the alert that says why.
  virtual loop::ByteQueue& output() = 0;

  virtual bool is_established() const = 0;
  virtual TlsFailure failure() const = 0;
  // OpenSSL's words, for a message; empty without a failure.
  virtual const std::string& failure_text() const = 0;
  // The name of the key: a client's own, at a server what the client has asked for.
  virtual const std::string& identity() const = 0;
};

// The functions of librtrain_tls.so. Each throws Error(kInternal) when OpenSSL cannot be set up.
struct TlsApi {
  std::unique_ptr<TlsSession> (*client)(const WireKey& key);
  std::unique_ptr<TlsSession> (*server)(TlsSession::FindKey find_key);
  // HKDF with SHA-256 (RFC 5869): that many bytes made from a secret.
  std::string (*hkdf_sha256)(std::string_view secret, std::string_view salt, std::string_view info,
                             size_t num_bytes);
};

// Loads the library on first call. Throws Error(kEnvironment) with the dynamic linker's message.
// RTRAIN_TLS_MODULE=path loads it from a file, for debugging. Any thread.
const TlsApi& tls_api();

}  // namespace rtrain::wire
