#include "host/text/models/merge_table.h"

#include <algorithm>
#include <bit>
#include <queue>
#include <random>

namespace rtrain::text {

MergeTable::MergeTable(size_t count)
    : entries_(std::bit_ceil(2 * count + 2)), mask_(entries_.size() - 1) {}

void MergeTable::set(uint32_t left, uint32_t right, Merge merge) {
  const uint64_t key = uint64_t{left} << 32 | right;
  size_t at = place(key);
  while (entries_[at].key != key && entries_[at].key != kFree) at = (at + 1) & mask_;
  size_ += entries_[at].key == kFree ? 1 : 0;
  entries_[at] = {key, merge};
}

namespace {

// Up to this length looking at all pairs is faster than a queue.
constexpr size_t kShort = 48;

void merge_short(const MergeTable& table, Symbols& symbols) {
  Merge merges[kShort];
  size_t count = symbols.size();
  uint32_t* const ids = symbols.ids.data();
  uint32_t* const bytes = symbols.bytes.data();
  for (size_t i = 0; i + 1 < count; ++i) merges[i] = table.find(ids[i], ids[i + 1]);
  while (count > 1) {
    size_t best = 0;
    for (size_t i = 1; i + 1 < count; ++i) {
      if (merges[i].rank < merges[best].rank) best = i;
    }
    if (merges[best].rank == kNoRank) break;
    ids[best] = merges[best].id;
    bytes[best] += bytes[best + 1];
    --count;
    for (size_t i = best + 1; i < count; ++i) {
      ids[i] = ids[i + 1];
      bytes[i] = bytes[i + 1];
      merges[i] = merges[i + 1];
    }
    if (best > 0) merges[best - 1] = table.find(ids[best - 1], ids[best]);
    if (best + 1 < count) merges[best] = table.find(ids[best], ids[best + 1]);
  }
  symbols.ids.resize(count);
  symbols.bytes.resize(count);
}

struct Candidate {
  uint32_t rank;
  uint32_t at;
  uint32_t id;
  bool operator<(const Candidate& other) const {
    return rank != other.rank ? rank > other.rank : at > other.at;
  }
};

// Symbols as a list of neighbours. One that was merged into its left neighbour has no bytes.
class LongWord {
 public:
  LongWord(const MergeTable& table, Symbols& symbols)
      : table_(table), symbols_(symbols), before_(symbols.size()), after_(symbols.size()) {
    for (size_t i = 0; i < symbols.size(); ++i) {
      before_[i] = static_cast<int64_t>(i) - 1;
      after_[i] = i + 1 < symbols.size() ? static_cast<int64_t>(i) + 1 : -1;
      is_merged_.push_back(false);
    }
    for (size_t i = 0; i + 1 < symbols.size(); ++i) offer(static_cast<int64_t>(i));
  }

  void run(double dropout) {
    std::vector<Candidate> skipped;
    while (!queue_.empty()) {
      const Candidate best = queue_.top();
      queue_.pop();
      if (dropout > 0 && is_dropped(dropout)) {
        skipped.push_back(best);
        continue;
      }
      for (const Candidate& candidate : skipped) queue_.push(candidate);
      skipped.clear();
      if (is_current(best)) merge(best);
    }
    compact();
  }

 private:
  static bool is_dropped(double dropout) {
    thread_local std::mt19937_64 random{std::random_device{}()};
    return std::uniform_real_distribution<double>(0, 1)(random) < dropout;
  }

  void offer(int64_t at) {
    const int64_t next = at < 0 ? -1 : after_[static_cast<size_t>(at)];
    if (next < 0) return;
    const Merge merge =
        table_.find(symbols_.ids[static_cast<size_t>(at)], symbols_.ids[static_cast<size_t>(next)]);
    if (merge.rank != kNoRank) queue_.push({merge.rank, static_cast<uint32_t>(at), merge.id});
  }

  bool is_current(const Candidate& candidate) const {
    if (is_merged_[candidate.at] || after_[candidate.at] < 0) return false;
    const auto next = static_cast<size_t>(after_[candidate.at]);
    const Merge merge = table_.find(symbols_.ids[candidate.at], symbols_.ids[next]);
    return merge.rank != kNoRank && merge.id == candidate.id;
  }

  void merge(const Candidate& candidate) {
    const auto next = static_cast<size_t>(after_[candidate.at]);
    symbols_.ids[candidate.at] = candidate.id;
    symbols_.bytes[candidate.at] += symbols_.bytes[next];
    is_merged_[next] = true;
    after_[candidate.at] = after_[next];
    if (after_[next] >= 0) before_[static_cast<size_t>(after_[next])] = candidate.at;
    offer(before_[candidate.at]);
    offer(candidate.at);
  }

  void compact() {
    size_t kept = 0;
    for (size_t i = 0; i < symbols_.size(); ++i) {
      if (is_merged_[i]) continue;
      symbols_.ids[kept] = symbols_.ids[i];
      symbols_.bytes[kept++] = symbols_.bytes[i];
    }
    symbols_.ids.resize(kept);
    symbols_.bytes.resize(kept);
  }

  const MergeTable& table_;
  Symbols& symbols_;
  std::vector<int64_t> before_, after_;
  std::vector<bool> is_merged_;
  std::priority_queue<Candidate> queue_;
};

}  // namespace

void merge_symbols(const MergeTable& table, Symbols& symbols, double dropout) {
  if (symbols.size() < 2) return;
  if (symbols.size() <= kShort && dropout <= 0) return merge_short(table, symbols);
  LongWord(table, symbols).run(dropout);
}

}  // namespace rtrain::text
