// host/text/trainers/word_counts.h: how often each word stands in the texts that a model learns
// from.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rtrain::text {

// One thread at a time.
class WordCounts {
 public:
  WordCounts();
  void add(std::string_view word);
  size_t size() const { return size_; }
  // The words in the order of their bytes.
  std::vector<std::pair<std::string_view, uint64_t>> sorted() const;

 private:
  struct Entry {
    uint64_t hash = 0;
    size_t begin = 0;  // in bytes_
    uint32_t length = 0;
    uint64_t count = 0;  // 0: free
  };
  void grow();

  std::string bytes_;
  std::vector<Entry> entries_;
  size_t size_ = 0;
};

}  // namespace rtrain::text
