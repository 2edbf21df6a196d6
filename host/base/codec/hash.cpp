#include "host/base/codec/hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <array>
#include <cstdio>

namespace rtrain {

struct alignas(64) Hasher::State {
  XXH3_state_t xxh;
};

uint64_t hash64(std::string_view bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

std::string hash_text(uint64_t hash) {
  std::array<char, 17> text;
  std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(hash));
  return text.data();
}

Hasher::Hasher() : state_(std::make_unique<State>()) { XXH3_64bits_reset(&state_->xxh); }
Hasher::~Hasher() = default;

void Hasher::add(std::string_view bytes) {
  XXH3_64bits_update(&state_->xxh, bytes.data(), bytes.size());
}

uint64_t Hasher::digest() const { return XXH3_64bits_digest(&state_->xxh); }

}  // namespace rtrain
