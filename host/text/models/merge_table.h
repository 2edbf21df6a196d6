// host/text/models/merge_table.h: which pairs of tokens BPE merges, and the merging of a word.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace rtrain::text {

struct Merge {
  uint32_t rank = std::numeric_limits<uint32_t>::max();  // that of no merge
  uint32_t id = 0;                                       // of the merged token
};

inline constexpr uint32_t kNoRank = std::numeric_limits<uint32_t>::max();

// Does not change after it was filled: any thread may look up.
class MergeTable {
 public:
  // Space for this number of merges.
  explicit MergeTable(size_t count = 0);

  // Replaces the merge of a pair that is there. REQUIRES: no more merges than there is space for.
  void set(uint32_t left, uint32_t right, Merge merge);
  Merge find(uint32_t left, uint32_t right) const {
    const uint64_t key = uint64_t{left} << 32 | right;
    for (size_t at = place(key);; at = (at + 1) & mask_) {
      const Entry& entry = entries_[at];
      if (entry.key == key) return entry.merge;
      if (entry.key == kFree) return {};
    }
  }
  size_t size() const { return size_; }

 private:
  static constexpr uint64_t kFree = ~uint64_t{0};
  struct Entry {
    uint64_t key = kFree;
    Merge merge;
  };
  size_t place(uint64_t key) const {
    key *= 0x9e3779b97f4a7c15u;
    return (key ^ key >> 32) & mask_;
  }

  std::vector<Entry> entries_;
  size_t mask_ = 0;
  size_t size_ = 0;
};

// A word that is merged: ids and how many bytes each covers.
struct Symbols {
  std::vector<uint32_t> ids;
  std::vector<uint32_t> bytes;

  void clear() {
    ids.clear();
    bytes.clear();
  }
  void add(uint32_t id, uint32_t length) {
    ids.push_back(id);
    bytes.push_back(length);
  }
  size_t size() const { return ids.size(); }
};

// Applies merges, the lowest rank first and of equal ones the leftmost, until none is left. With
// dropout each one is skipped with that probability. Takes n log n time.
void merge_symbols(const MergeTable& table, Symbols& symbols, double dropout = 0);

}  // namespace rtrain::text
