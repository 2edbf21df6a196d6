// host/text/models/byte_words.h: byte-level BPE without a copy of the text: a scanner cuts words,
// whose bytes are looked up in a cache or merged.
//
// ByteWords does not change after it was made: any thread may use it, each with its own Cache.
#pragma once

#include <array>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "host/text/models/bpe.h"
#include "host/text/patterns/scanners.h"

namespace rtrain::text {

class ByteWords {
 public:
  class Cache;

  // Null where the model does more than merge bytes: each byte must be a token, and no token may
  // stand for what is unknown or be made longer.
  static std::unique_ptr<ByteWords> make(const Bpe& model, WordScanner scanner);

  // Appends the ids of a text, and where each token ends, in bytes from `base` on.
  void encode(std::string_view text, uint32_t base, Cache& cache, std::vector<uint32_t>& ids,
              std::vector<uint32_t>& ends) const;

 private:
  ByteWords(const Bpe& model, WordScanner scanner) : model_(model), scanner_(scanner) {}
  void merge(std::string_view word, Symbols& symbols) const;

  const Bpe& model_;
  WordScanner scanner_;
  std::array<uint32_t, 256> byte_ids_;
  std::unordered_map<std::string, uint32_t> whole_words_;  // with ignore_merges alone
};

// Words and their tokens. Those of up to 15 bytes and three tokens are in a table of their own,
// where a new one replaces an older one; the others are forgotten together when they take too much
// memory.
class ByteWords::Cache {
 public:
  Cache();

  struct Short {
    uint64_t low = 0, high = 0;  // the bytes, and their number in the last one
    std::array<uint32_t, 3> ids{};
    std::array<uint8_t, 3> bytes{};
    uint8_t count = 0;
  };
  struct Long {
    const char* word = nullptr;
    const uint32_t* tokens = nullptr;  // ids, and then how many bytes each has
    uint32_t size = 0;
    uint32_t count = 0;
  };

  Short& place_of(uint64_t low, uint64_t high) {
    const uint64_t hash = (low ^ (high * 0x9e3779b97f4a7c15u)) * 0xff51afd7ed558ccdu;
    return short_[hash >> 48];
  }
  const Long* find(std::string_view word, uint64_t hash) const;
  void add(std::string_view word, uint64_t hash, const Symbols& symbols);

  Symbols symbols;  // of the word at hand

 private:
  void forget();

  std::vector<Short> short_;
  std::vector<Long> long_;
  std::vector<std::unique_ptr<uint32_t[]>> chunks_;
  size_t used_ = 0, count_ = 0;
};

}  // namespace rtrain::text
