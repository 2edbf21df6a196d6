#include "host/text/trainers/bpe_trainer.h"

#include <algorithm>
#include <limits>
#include <map>
#include <queue>
#include <unordered_map>

#include "host/text/unicode/characters.h"

namespace rtrain::text {
namespace {

using Words = std::vector<std::pair<std::string, uint64_t>>;

// The symbols of a word, in memory that all words share: they only become fewer.
struct Word {
  size_t begin = 0;
  uint32_t size = 0;
  int64_t count = 0;
};

struct Symbol {
  uint32_t id = 0;
  uint32_t length = 0;  // characters
};

struct Pair {
  int64_t count = 0;
  int64_t step = -1;    // the merge that last made more of it
  uint32_t places = 0;  // the words in which it did so: an index of places_
};

// A pair may be in the queue several times, each time for other words: tokenizers has it so, and
// the order of merges depends on it.
struct Best {
  int64_t count = 0;
  uint64_t pair = 0;
  uint32_t places = 0;
  bool operator<(const Best& other) const {
    return count != other.count ? count < other.count : pair > other.pair;
  }
};

uint64_t pair_of(uint32_t left, uint32_t right) { return uint64_t{left} << 32 | right; }

class BpeTraining {
 public:
  BpeTraining(const Words& words, const BpeTrainerOptions& options)
      : options_(options),
        longest_(options.max_token_length.value_or(std::numeric_limits<size_t>::max())) {
    for (const std::string& token : options.special_tokens) id_of(token);
    add_alphabet(words);
    for (const auto& [word, count] : words) add_word(word, static_cast<int64_t>(count));
  }

  LearnedBpe run() {
    for (uint32_t i = 0; i < words_.size(); ++i) count_pairs(i);
    queue_changed();
    while (out_.tokens.size() < options_.vocab_size && !queue_.empty()) {
      const Best best = queue_.top();
      queue_.pop();
      const int64_t count = pairs_[best.pair].count;
      if (count != best.count) {
        queue_.push({count, best.pair, best.places});
        continue;
      }
      if (count < 1 || static_cast<uint64_t>(count) < options_.min_frequency) break;
      merge(best);
    }
    drop_repeated_merges();
    return std::move(out_);
  }

 private:
  uint32_t id_of(const std::string& token) {
    const auto [entry, is_new] = ids_.try_emplace(token, static_cast<uint32_t>(out_.tokens.size()));
    if (is_new) out_.tokens.push_back(token);
    return entry->second;
  }

  void add_alphabet(const Words& words) {
    constexpr uint64_t kAlways = std::numeric_limits<uint64_t>::max();
    std::map<char32_t, uint64_t> counts;
    for (const auto& [word, count] : words) {
      for (size_t at = 0; at < word.size();) {
        const Character c = character_at(word, at);
        counts[c.code] += count;
        at += c.bytes;
      }
    }
    for (const char32_t code : characters_of(options_.initial_alphabet)) counts[code] = kAlways;
    std::vector<std::pair<uint64_t, char32_t>> kept;
    for (const auto& [code, count] : counts) kept.emplace_back(count, code);
    if (options_.limit_alphabet && kept.size() > *options_.limit_alphabet) {
      std::stable_sort(kept.begin(), kept.end(),
                       [](const auto& a, const auto& b) { return a.first < b.first; });
      kept.erase(kept.begin(), kept.end() - static_cast<ptrdiff_t>(*options_.limit_alphabet));
    }
    std::sort(kept.begin(), kept.end(),
              [](const auto& a, const auto& b) { return a.second < b.second; });
    for (const auto& [count, code] : kept) id_of(to_utf8(code));
  }

  void add_word(const std::string& word, int64_t count) {
    Word made{symbols_.size(), 0, count};
    for (size_t at = 0; at < word.size();) {
      const uint32_t bytes = bytes_of_first(static_cast<unsigned char>(word[at]));
      std::string token = word.substr(at, bytes);
      const bool is_first = at == 0;
      at += bytes;
      if (!ids_.contains(token)) continue;
      if (!is_first) token = options_.continuing_subword_prefix + token;
      if (at == word.size()) token += options_.end_of_word_suffix;
      symbols_.push_back({id_of(token), 1});
      ++made.size;
    }
    words_.push_back(made);
  }

  void add_place(uint64_t pair, int64_t count, uint32_t word) {
    Pair& found = pairs_[pair];
    found.count += count;
    if (found.step != step_) {
      found.step = step_;
      found.places = static_cast<uint32_t>(places_.size());
      places_.emplace_back();
      changed_.push_back(pair);
    }
    std::vector<uint32_t>& places = places_[found.places];
    if (places.empty() || places.back() != word) places.push_back(word);
  }

  void queue_changed() {
    for (const uint64_t pair : changed_) {
      const Pair& found = pairs_[pair];
      if (found.count > 0) queue_.push({found.count, pair, found.places});
    }
    changed_.clear();
    ++step_;
  }

  // Of a pair that was merged twice the last merge stays.
  void drop_repeated_merges() {
    std::map<std::pair<std::string, std::string>, size_t> last;
    for (size_t i = 0; i < out_.merges.size(); ++i) last[out_.merges[i]] = i;
    Bpe::Merges kept;
    for (size_t i = 0; i < out_.merges.size(); ++i) {
      if (last[out_.merges[i]] == i) kept.push_back(out_.merges[i]);
    }
    out_.merges = std::move(kept);
  }

  void count_pairs(uint32_t index) {
    const Word& word = words_[index];
    for (uint32_t i = 0; i + 1 < word.size; ++i) {
      const Symbol* at = &symbols_[word.begin + i];
      add_place(pair_of(at[0].id, at[1].id), word.count, index);
    }
  }

  void merge(const Best& best) {
    const auto left = static_cast<uint32_t>(best.pair >> 32);
    const auto right = static_cast<uint32_t>(best.pair);
    const size_t prefix = options_.continuing_subword_prefix.size();
    const std::string second = out_.tokens[right];
    const bool has_prefix = prefix > 0 && second.starts_with(options_.continuing_subword_prefix);
    const uint32_t made = id_of(out_.tokens[left] + second.substr(has_prefix ? prefix : 0));
    out_.merges.emplace_back(out_.tokens[left], second);
    std::vector<uint32_t> places;
    places.swap(places_[best.places]);
    for (const uint32_t place : places) merge_in(place, left, right, made);
    queue_changed();
  }

  void change(uint64_t pair, int64_t count, uint32_t word) {
    if (count < 0) {
      pairs_[pair].count += count;
    } else {
      add_place(pair, count, word);
    }
  }

  void merge_in(uint32_t index, uint32_t left, uint32_t right, uint32_t made) {
    Word& word = words_[index];
    Symbol* const symbols = &symbols_[word.begin];
    uint32_t kept = 0;
    for (uint32_t i = 0; i < word.size; ++i) {
      const bool is_pair = symbols[i].id == left && i + 1 < word.size && symbols[i + 1].id == right;
      if (!is_pair) {
        symbols[kept++] = symbols[i];
        continue;
      }
      const Symbol merged{made, symbols[i].length + symbols[i + 1].length};
      if (kept > 0) {
        const Symbol& before = symbols[kept - 1];
        change(pair_of(before.id, left), -word.count, index);
        if (before.length + merged.length < longest_) {
          change(pair_of(before.id, made), word.count, index);
        }
      }
      if (i + 2 < word.size) {
        const Symbol& after = symbols[i + 2];
        change(pair_of(right, after.id), -word.count, index);
        if (after.length + merged.length < longest_) {
          change(pair_of(made, after.id), word.count, index);
        }
      }
      symbols[kept++] = merged;
      ++i;
    }
    word.size = kept;
  }

  const BpeTrainerOptions& options_;
  size_t longest_;
  LearnedBpe out_;
  std::unordered_map<std::string, uint32_t> ids_;
  std::vector<Symbol> symbols_;
  std::vector<Word> words_;
  std::unordered_map<uint64_t, Pair> pairs_;
  std::priority_queue<Best> queue_;
  std::vector<std::vector<uint32_t>> places_;
  std::vector<uint64_t> changed_;  // pairs of which there are more since the last merge
  int64_t step_ = 0;
};

}  // namespace

LearnedBpe train_bpe(const Words& words, const BpeTrainerOptions& options) {
  return BpeTraining(words, options).run();
}

}  // namespace rtrain::text
