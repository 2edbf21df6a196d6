// host/wire/secret.h: the secret that all processes of a run share, and the keys made from it.
//
// A secret is never part of a message, a log or a command line. The destructor wipes its bytes.
// Without one (Secret::none) anyone knows the key: such a server and client may only use loopback,
// which other nodes cannot reach.
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
  // Nullopt for a text that this version does not write.
  static std::optional<WireIdentity> parse(std::string_view text);
};

class Secret {
 public:
  static constexpr size_t kMinBytes = 32;

  static Secret none() { return Secret(); }
  // Throws Error(kConfig) for fewer than kMinBytes; `origin` names their source in the message.
  Secret(std::string bytes, std::string_view origin);
  // Returns a new secret from the kernel's random numbers.
  static Secret generate();
  Secret(const Secret&) = default;
  Secret& operator=(const Secret&) = default;
  ~Secret() { wipe(bytes_); }

  bool is_given() const { return !bytes_.empty(); }
  // Returns a secret for this identity only: a peer that has it cannot use another identity.
  Secret of(const WireIdentity& identity) const;
  // Returns the key of a run and role (of the client: "agent", for example), by HKDF-SHA256.
  WireKey derive(const WireIdentity& identity) const;
  // For a file that only the user can read.
  const std::string& bytes() const { return bytes_; }

 private:
  Secret() = default;
  std::string bytes_;
};

}  // namespace rtrain::wire
