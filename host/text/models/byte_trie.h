// host/text/models/byte_trie.h: finds all tokens that a text begins with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace rtrain::text {

// Does not change after it was filled: any thread may look up.
class ByteTrie {
 public:
  ByteTrie();
  // REQUIRES: text is not empty. A text that is there gets the new number. Throws Error(kArgument)
  // for one of more than kLongest bytes, on which a search would take too long.
  static constexpr size_t kLongest = 1024;
  void add(std::string_view text, uint32_t number);

  // Calls see(length, number) for each text that begins at text[0], the shortest first.
  template <class See>
  void each_prefix(std::string_view text, const See& see) const {
    uint32_t node = 0;
    for (size_t i = 0; i < text.size(); ++i) {
      node = child(node, static_cast<unsigned char>(text[i]));
      if (node == 0) return;
      if (numbers_[node] != kNone) see(i + 1, numbers_[node]);
    }
  }

 private:
  static constexpr uint32_t kNone = ~uint32_t{0};
  struct Edge {
    uint64_t key = ~uint64_t{0};
    uint32_t node = 0;
  };
  uint32_t child(uint32_t node, unsigned char byte) const {
    if (node == 0) return roots_[byte];
    const uint64_t key = uint64_t{node} << 8 | byte;
    for (size_t at = place(key);; at = (at + 1) & mask_) {
      if (edges_[at].key == key) return edges_[at].node;
      if (edges_[at].node == 0) return 0;
    }
  }
  size_t place(uint64_t key) const {
    key *= 0x9e3779b97f4a7c15u;
    return (key ^ key >> 32) & mask_;
  }
  uint32_t new_node();
  void insert(uint64_t key, uint32_t node);
  void grow();

  std::vector<uint32_t> numbers_;  // of each node, kNone inside a text
  std::vector<uint32_t> roots_;
  std::vector<Edge> edges_;
  size_t mask_ = 0, used_ = 0;
};

}  // namespace rtrain::text
