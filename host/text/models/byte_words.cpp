#include "host/text/models/byte_words.h"

#include <cstring>

#include "host/text/pieces/byte_characters.h"
#include "host/text/unicode/characters.h"

namespace rtrain::text {
namespace {

constexpr size_t kShortWords = 1 << 16;
constexpr size_t kLongWords = 1 << 16;
constexpr size_t kLongestWord = 256;
constexpr size_t kChunkWords = 1 << 18;
constexpr size_t kMostChunks = 16;  // 16 MiB

uint64_t hash_of(std::string_view word) {
  uint64_t hash = word.size() * 0x9e3779b97f4a7c15u;
  size_t at = 0;
  for (; at + 8 <= word.size(); at += 8) {
    uint64_t part = 0;
    std::memcpy(&part, word.data() + at, 8);
    hash = (hash ^ part) * 0xff51afd7ed558ccdu;
    hash ^= hash >> 32;
  }
  uint64_t rest = 0;
  std::memcpy(&rest, word.data() + at, word.size() - at);
  hash = (hash ^ rest) * 0xc4ceb9fe1a85ec53u;
  return hash ^ hash >> 29;
}

// The bytes of a word of at most 15 as two numbers, with their count in the last byte.
struct ShortKey {
  uint64_t low = 0, high = 0;
};

ShortKey short_key(const char* word, size_t size, const char* end) {
  ShortKey key;
  if (end - word >= 16) {
    std::memcpy(&key, word, 16);
    if (size < 8) {
      key.low &= (uint64_t{1} << 8 * size) - 1;
      key.high = 0;
    } else {
      key.high &= (uint64_t{1} << 8 * (size - 8)) - 1;
    }
  } else {
    std::memcpy(&key, word, size);
  }
  key.high |= uint64_t{size} << 56;
  return key;
}

}  // namespace

ByteWords::Cache::Cache() : short_(kShortWords), long_(kLongWords) {}

const ByteWords::Cache::Long* ByteWords::Cache::find(std::string_view word, uint64_t hash) const {
  for (size_t at = hash & (kLongWords - 1); long_[at].word != nullptr;
       at = (at + 1) & (kLongWords - 1)) {
    const Long& entry = long_[at];
    if (entry.size == word.size() && std::memcmp(entry.word, word.data(), word.size()) == 0) {
      return &entry;
    }
  }
  return nullptr;
}

void ByteWords::Cache::forget() {
  chunks_.clear();
  count_ = 0;
  long_.assign(kLongWords, {});
}

void ByteWords::Cache::add(std::string_view word, uint64_t hash, const Symbols& symbols) {
  const size_t needed = 2 * symbols.size() + (word.size() + 3) / 4;
  if (chunks_.empty() || used_ + needed > kChunkWords || 2 * count_ >= kLongWords) {
    if (chunks_.size() >= kMostChunks || 2 * count_ >= kLongWords) forget();
    chunks_.push_back(std::make_unique<uint32_t[]>(kChunkWords));
    used_ = 0;
  }
  uint32_t* const tokens = chunks_.back().get() + used_;
  used_ += needed;
  ++count_;
  const size_t bytes = symbols.size() * sizeof(uint32_t);
  std::memcpy(tokens, symbols.ids.data(), bytes);
  std::memcpy(tokens + symbols.size(), symbols.bytes.data(), bytes);
  char* const kept = reinterpret_cast<char*>(tokens + 2 * symbols.size());
  std::memcpy(kept, word.data(), word.size());
  size_t at = hash & (kLongWords - 1);
  while (long_[at].word != nullptr) at = (at + 1) & (kLongWords - 1);
  long_[at] = {kept, tokens, static_cast<uint32_t>(word.size()),
               static_cast<uint32_t>(symbols.size())};
}

std::unique_ptr<ByteWords> ByteWords::make(const Bpe& model, WordScanner scanner) {
  const BpeOptions& options = model.options();
  const bool is_plain = options.dropout <= 0 && options.continuing_subword_prefix.empty() &&
                        options.end_of_word_suffix.empty();
  if (!is_plain) return nullptr;
  std::unique_ptr<ByteWords> out(new ByteWords(model, scanner));
  for (unsigned byte = 0; byte < 256; ++byte) {
    const auto character = character_of_byte(static_cast<unsigned char>(byte));
    const auto id = model.vocabulary().id_of(to_utf8(character));
    if (!id) return nullptr;
    out->byte_ids_[byte] = *id;
  }
  for (uint32_t id = 0; id < model.vocabulary().end_id() && options.ignore_merges; ++id) {
    const auto token = model.vocabulary().token_of(id);
    if (!token || model.vocabulary().id_of(*token) != id) continue;
    if (auto bytes = bytes_of_characters(*token)) out->whole_words_.emplace(std::move(*bytes), id);
  }
  return out;
}

void ByteWords::merge(std::string_view word, Symbols& symbols) const {
  symbols.clear();
  if (!whole_words_.empty()) {
    const auto found = whole_words_.find(std::string(word));
    if (found != whole_words_.end()) {
      return symbols.add(found->second, static_cast<uint32_t>(word.size()));
    }
  }
  for (const char byte : word) symbols.add(byte_ids_[static_cast<unsigned char>(byte)], 1);
  merge_symbols(model_.merges(), symbols);
}

void ByteWords::encode(std::string_view text, uint32_t base, Cache& cache,
                       std::vector<uint32_t>& ids, std::vector<uint32_t>& ends) const {
  const char* const end = text.data() + text.size();
  uint32_t done = base;
  const auto put = [&](const uint32_t* its_ids, const auto* bytes, size_t count) {
    for (size_t i = 0; i < count; ++i) {
      done += bytes[i];
      ids.push_back(its_ids[i]);
      ends.push_back(done);
    }
  };
  Symbols& symbols = cache.symbols;
  for (const char* at = text.data(); at < end;) {
    const char* const next = scanner_(at, end);
    const std::string_view word(at, static_cast<size_t>(next - at));
    Cache::Short* place = nullptr;
    ShortKey key;
    if (word.size() <= 15) {
      key = short_key(at, word.size(), end);
      place = &cache.place_of(key.low, key.high);
    }
    at = next;
    if (place != nullptr && place->low == key.low && place->high == key.high) {
      put(place->ids.data(), place->bytes.data(), place->count);
      continue;
    }
    const bool is_kept = word.size() <= kLongestWord;
    const uint64_t hash = is_kept ? hash_of(word) : 0;
    if (const auto* found = is_kept ? cache.find(word, hash) : nullptr) {
      put(found->tokens, found->tokens + found->count, found->count);
      continue;
    }
    merge(word, symbols);
    put(symbols.ids.data(), symbols.bytes.data(), symbols.size());
    if (place != nullptr && symbols.size() <= 3) {
      *place = {key.low, key.high, {}, {}, static_cast<uint8_t>(symbols.size())};
      for (size_t i = 0; i < symbols.size(); ++i) {
        place->ids[i] = symbols.ids[i];
        place->bytes[i] = static_cast<uint8_t>(symbols.bytes[i]);
      }
    } else if (is_kept) {
      cache.add(word, hash, symbols);
    }
  }
}

}  // namespace rtrain::text
