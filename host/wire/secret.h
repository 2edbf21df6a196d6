// host/wire/secret.h: the secret that all processes of a run share, and the keys made from it.
//
// A secret never goes into a message, a log or a command line; its bytes are wiped with the object.
// Without one (Secret::none) the key is known to everyone: such a server and client are allowed on
// loopback alone, where the kernel keeps other nodes out.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "host/wire/wire_key.h"

namespace rtrain::wire {

// The content of an identity: the run and the role of a peer.
struct WireIdentity {
  std::string role;
  std::string run_id;

  std::string text() const;
  // Nothing for a text that this version does not write.
  static std::optional<WireIdentity> parse(std::string_view text);
};

class Secret {
 public:
  static constexpr size_t kMinBytes = 32;

  static Secret none() { return Secret(); }
  // Throws Error(kConfig) for fewer than kMinBytes; `origin` says where the bytes are from.
  Secret(std::string bytes, std::string_view origin);
  // New, from the kernel.
  static Secret generate();
  Secret(const Secret&) = default;
  Secret& operator=(const Secret&) = default;
  ~Secret() { wipe(bytes_); }

  bool is_given() const { return !bytes_.empty(); }
  // A secret for that identity alone: whoever has it cannot come as another one.
  Secret of(const WireIdentity& identity) const;
  // By HKDF-SHA256: another key for each run and role. `role`: what the client is, such as "agent".
  WireKey derive(const WireIdentity& identity) const;
  // For a file that only the user can read.
  const std::string& bytes() const { return bytes_; }

 private:
  Secret() = default;
  std::string bytes_;
};

}  // namespace rtrain::wire
