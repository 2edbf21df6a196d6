// host/wire/tls_session.h: one end of a TLS 1.3 connection with a pre-shared key, without a socket;
// and the other functions of librtrain_tls.so.
//
// The owner calls feed() with received bytes, reads the decrypted bytes with read(), and sends the
// bytes in output(). Both sides must show that they have the key before read() returns a byte.
// OpenSSL is in a library of its own (host/tls), which is loaded at the first session or key: a
// process without connections does not load it.
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
  kUnknownRun,  // the server does not have the client's run or key
  kWrongKey,
  kBroken,  // bytes were changed, lost or replayed, or any other error
};

class TlsSession {
 public:
  // Returns the key of the client with this identity; nullopt when the server has none.
  using FindKey = std::function<std::optional<WireKey>(std::string_view identity)>;

  // A client's end: output() has its first bytes at once.
  static std::unique_ptr<TlsSession> client(const WireKey& key);
  static std::unique_ptr<TlsSession> server(FindKey find_key);
  virtual ~TlsSession() = default;

  // Takes bytes of the peer and continues the handshake. The caller owns the bytes, and must not
  // change them until read() has returned 0.
  virtual void feed(std::string_view bytes) = 0;
  // Copies out decrypted bytes; 0 when there are no more for now, or after a failure.
  virtual size_t read(char* to, size_t size) = 0;
  // Encrypts bytes into output(). REQUIRES: is_established().
  virtual void write(std::string_view plain) = 0;
  // The bytes to send to the peer. After a failure they have the alert that says why.
  virtual loop::ByteQueue& output() = 0;

  virtual bool is_established() const = 0;
  virtual TlsFailure failure() const = 0;
  // OpenSSL's error text, for a message; empty without a failure.
  virtual const std::string& failure_text() const = 0;
  // The name of the key: on a server, the name that the client has sent.
  virtual const std::string& identity() const = 0;
};

// The functions of librtrain_tls.so. Each throws Error(kInternal) when OpenSSL cannot be set up.
struct TlsApi {
  std::unique_ptr<TlsSession> (*client)(const WireKey& key);
  std::unique_ptr<TlsSession> (*server)(TlsSession::FindKey find_key);
  // HKDF with SHA-256 (RFC 5869): makes `num_bytes` bytes from a secret.
  std::string (*hkdf_sha256)(std::string_view secret, std::string_view salt, std::string_view info,
                             size_t num_bytes);
  // The digest of the bytes in hexadecimal digits.
  std::string (*sha256)(std::string_view bytes);
};

// The first call loads the library. Throws Error(kEnvironment) with the dynamic linker's message.
// RTRAIN_TLS_MODULE=path loads it from a file, for debugging. Any thread.
const TlsApi& tls_api();

}  // namespace rtrain::wire
