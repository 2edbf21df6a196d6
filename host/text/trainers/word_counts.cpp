#include "host/text/trainers/word_counts.h"

#include <algorithm>
#include <functional>

namespace rtrain::text {

WordCounts::WordCounts() : entries_(1 << 16) {}

void WordCounts::grow() {
  std::vector<Entry> old(entries_.size() * 2);
  old.swap(entries_);
  for (const Entry& entry : old) {
    if (entry.count == 0) continue;
    size_t at = entry.hash & (entries_.size() - 1);
    while (entries_[at].count != 0) at = (at + 1) & (entries_.size() - 1);
    entries_[at] = entry;
  }
}

void WordCounts::add(std::string_view word) {
  const uint64_t hash = std::hash<std::string_view>()(word);
  size_t at = hash & (entries_.size() - 1);
  for (; entries_[at].count != 0; at = (at + 1) & (entries_.size() - 1)) {
    Entry& entry = entries_[at];
    if (entry.hash == hash && entry.length == word.size() &&
        std::string_view(bytes_).substr(entry.begin, entry.length) == word) {
      ++entry.count;
      return;
    }
  }
  entries_[at] = {hash, bytes_.size(), static_cast<uint32_t>(word.size()), 1};
  bytes_ += word;
  if (2 * ++size_ > entries_.size()) grow();
}

std::vector<std::pair<std::string_view, uint64_t>> WordCounts::sorted() const {
  std::vector<std::pair<std::string_view, uint64_t>> out;
  out.reserve(size_);
  for (const Entry& entry : entries_) {
    if (entry.count == 0) continue;
    out.emplace_back(std::string_view(bytes_).substr(entry.begin, entry.length), entry.count);
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace rtrain::text
