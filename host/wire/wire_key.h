// host/wire/wire_key.h: the pre-shared key of one connection. The destructor wipes its bytes.
#pragma once

#include <string.h>  // NOLINT: explicit_bzero is not in <cstring>

#include <string>
#include <utility>

namespace rtrain::wire {

inline void wipe(std::string& bytes) { ::explicit_bzero(bytes.data(), bytes.size()); }

struct WireKey {
  std::string identity;  // the name by which the server finds the key; sent unencrypted
  std::string bytes;

  WireKey() = default;
  WireKey(std::string name, std::string key) : identity(std::move(name)), bytes(std::move(key)) {}
  WireKey(const WireKey&) = default;
  WireKey& operator=(const WireKey& other) {
    if (this == &other) return *this;
    wipe(bytes);
    identity = other.identity;
    bytes = other.bytes;
    return *this;
  }
  ~WireKey() { wipe(bytes); }
};

}  // namespace rtrain::wire
