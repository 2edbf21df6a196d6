// host/base/codec/hash.h: XXH3-64, the hash of checkpoint files and manifests.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace rtrain {

uint64_t hash64(std::string_view bytes);

// Formats the hash as 16 lower-case hexadecimal digits.
std::string hash_text(uint64_t hash);

// Computes the same hash over data that arrive in pieces.
class Hasher {
 public:
  Hasher();
  ~Hasher();
  Hasher(const Hasher&) = delete;
  Hasher& operator=(const Hasher&) = delete;
  void add(std::string_view bytes);
  uint64_t digest() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace rtrain
