#include "host/text/trainers/unigram_trainer.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <unordered_map>

#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/text/models/byte_trie.h"
#include "host/text/trainers/repeated_parts.h"
#include "host/text/unicode/characters.h"

namespace rtrain::text {
namespace {

using Words = std::vector<std::pair<std::string, uint64_t>>;

constexpr double kExpectedAtLeast = 0.5;
constexpr double kUnknownPenalty = 10;
constexpr double kMissingStep = 1e-4;
// What stands for an unknown character while tokenizers learns; it is never learnt.
constexpr std::string_view kUnknown = "<UNK>";

// Of x >= kExpectedAtLeast, to 1e-9: the series has the terms that tokenizers takes.
double digamma(double x) {
  double out = 0;
  for (; x < 7; x += 1) out -= 1 / x;
  x -= 0.5;
  const double s = 1 / (x * x);
  return out + std::log(x) +
         s * (1.0 / 24 - s * (7.0 / 960 - s * (31.0 / 8064 - s * 127.0 / 30720)));
}

double log_sum(double a, double b) {
  constexpr double kNothing = 50;  // exp(-50) of a sum is below its rounding
  const auto [low, high] = std::minmax(a, b);
  return high > low + kNothing ? high : high + std::log(std::exp(low - high) + 1);
}

struct Piece {
  std::string text;
  double score = 0;
};

// A piece at a place of a word, in bytes.
struct Edge {
  uint32_t begin = 0, end = 0;
  uint32_t id = 0;
  double score = 0;
};

// The pieces of one step, and the ways to cut a word into them. A character that is not a piece can
// be cut off as an unknown one, whose id is pieces.size().
class Lattice {
 public:
  explicit Lattice(const std::vector<Piece>& pieces) : pieces_(pieces) {
    for (uint32_t id = 0; id < pieces.size(); ++id) {
      trie_.add(pieces[id].text, id);
      lowest_ = std::min(lowest_, pieces[id].score);
    }
  }

  double lowest_score() const { return lowest_; }

  // Adds to each piece how often it is expected in `count` words.
  void add_expected(std::string_view word, double count, std::vector<double>& expected) {
    find_edges(word);
    // The sums over all ways from the begin of the word, and to its end.
    std::vector<std::optional<double>> ahead(word.size() + 1), behind(word.size() + 1);
    const auto add = [](std::optional<double>& sum, double score) {
      sum = sum ? log_sum(*sum, score) : score;
    };
    ahead[0] = behind[word.size()] = 0;
    for (const Edge& e : edges_) add(ahead[e.end], e.score + *ahead[e.begin]);
    for (size_t end = edges_.size(); end > 0;) {
      size_t begin = end;
      while (begin > 0 && edges_[begin - 1].begin == edges_[end - 1].begin) --begin;
      for (size_t i = begin; i < end; ++i) {
        add(behind[edges_[i].begin], edges_[i].score + *behind[edges_[i].end]);
      }
      end = begin;
    }
    const double all = *ahead[word.size()];
    for (const Edge& e : edges_) {
      expected[e.id] += count * std::exp(*ahead[e.begin] + e.score + *behind[e.end] - all);
    }
  }

  // The ids of the best way, without the piece `without`; empty where there is no way.
  std::vector<uint32_t> best(std::string_view word, std::optional<uint32_t> without = {}) {
    find_edges(word);
    std::vector<double> best(word.size() + 1, 0);
    std::vector<const Edge*> from(word.size() + 1, nullptr);
    for (const Edge& e : edges_) {
      if (e.id == without || (e.begin > 0 && from[e.begin] == nullptr)) continue;
      const double score = best[e.begin] + e.score;
      if (from[e.end] != nullptr && score <= best[e.end]) continue;
      best[e.end] = score;
      from[e.end] = &e;
    }
    std::vector<uint32_t> out;
    for (size_t at = word.size(); at > 0 && from[at] != nullptr; at = from[at]->begin) {
      out.push_back(from[at]->id);
    }
    std::reverse(out.begin(), out.end());
    return out;
  }

 private:
  // By their begin, the shorter first.
  void find_edges(std::string_view word) {
    edges_.clear();
    for (uint32_t at = 0; at < word.size();) {
      const uint32_t bytes = bytes_of_first(static_cast<unsigned char>(word[at]));
      bool has_single = false;
      trie_.each_prefix(word.substr(at), [&](size_t length, uint32_t id) {
        edges_.push_back({at, at + static_cast<uint32_t>(length), id, pieces_[id].score});
        has_single |= length == bytes;
      });
      if (!has_single) {
        edges_.push_back({at, at + bytes, static_cast<uint32_t>(pieces_.size()),
                          pieces_.empty() ? 0 : lowest_ - kUnknownPenalty});
      }
      at += bytes;
    }
  }

  const std::vector<Piece>& pieces_;
  ByteTrie trie_;
  double lowest_ = std::numeric_limits<double>::infinity();
  std::vector<Edge> edges_;
};

class UnigramTraining {
 public:
  UnigramTraining(const Words& words, const UnigramTrainerOptions& options)
      : words_(words),
        options_(options),
        most_(options.vocab_size * 11 / 10),
        required_(options.initial_alphabet) {
    for (const auto& [word, count] : words) {
      for (const char32_t c : characters_of(word)) required_.insert(c);
    }
  }

  LearnedUnigram run() {
    make_seed();
    while (true) {
      const size_t before = pieces_.size();
      for (size_t i = 0; i < options_.n_sub_iterations; ++i) maximize(expectations());
      // tokenizers counts the unknown piece too.
      if (pieces_.size() + 1 <= most_) break;
      prune();
      is_stuck_ = pieces_.size() == before;
      if (is_stuck_) break;
    }
    return finish();
  }

 private:
  void make_seed() {
    std::unordered_map<char32_t, uint64_t> counts;
    for (const auto& [word, count] : words_) {
      for (const char32_t c : characters_of(word)) counts[c] += c == 0 ? 0 : count;
    }
    std::vector<std::pair<uint64_t, std::string>> characters, parts;
    for (const auto& [code, count] : counts) {
      if (count > 0) characters.emplace_back(count, to_utf8(code));
    }
    for (auto& [part, places] : repeated_parts(words_, options_.max_piece_length)) {
      parts.emplace_back(places * count_characters(part), std::move(part));
    }
    std::sort(characters.rbegin(), characters.rend());
    std::sort(parts.rbegin(), parts.rend());
    // At least one part stays.
    const size_t space = options_.seed_size - std::min(options_.seed_size, characters.size());
    parts.resize(std::min(parts.size(), std::max(space, size_t{1})));
    double sum = 0;
    for (auto* const list : {&characters, &parts}) {
      for (auto& [weight, text] : *list) {
        sum += static_cast<double>(weight);
        pieces_.push_back({std::move(text), static_cast<double>(weight)});
      }
    }
    for (Piece& piece : pieces_) piece.score = std::log(piece.score) - std::log(sum);
  }

  // How often each piece is expected to be used.
  std::vector<double> expectations() const {
    std::vector<double> out(pieces_.size() + 1, 0);
    Lattice lattice(pieces_);
    for (const auto& [word, count] : words_) {
      lattice.add_expected(word, static_cast<double>(count), out);
    }
    return out;
  }

  void maximize(const std::vector<double>& expected) {
    std::vector<Piece> kept;
    double sum = 0;
    for (size_t id = 0; id < pieces_.size(); ++id) {
      if (expected[id] < kExpectedAtLeast) continue;
      kept.push_back({std::move(pieces_[id].text), digamma(expected[id])});
      sum += expected[id];
    }
    for (Piece& piece : kept) piece.score -= digamma(sum);
    pieces_ = std::move(kept);
  }

  // Leaves out the pieces whose loss makes the texts least unlikely. Those that stay are sorted by
  // that.
  void prune() {
    Lattice lattice(pieces_);
    std::vector<double> used(pieces_.size() + 1, 0);
    double sum = 0, num_words = 0;
    for (const auto& [word, count] : words_) {
      const auto weight = static_cast<double>(count);
      for (const uint32_t id : lattice.best(word)) {
        used[id] += weight;
        sum += weight;
      }
      num_words += weight;
    }
    // tokenizers, and SentencePiece before it, takes the number of all pieces here, not that of the
    // ones that stand for this one.
    const auto added = static_cast<double>(pieces_.size());
    std::vector<Piece> kept;
    std::vector<std::pair<double, uint32_t>> losses;
    for (uint32_t id = 0; id < pieces_.size(); ++id) {
      const std::string& text = pieces_[id].text;
      const bool is_best = lattice.best(text).size() == 1;
      const auto instead = is_best ? lattice.best(text, id) : std::vector<uint32_t>();
      if (used[id] == 0 && (!is_best || !instead.empty())) continue;
      if (instead.empty()) {
        kept.push_back(pieces_[id]);
        continue;
      }
      double alternative = 0;
      for (const uint32_t other : instead) {
        alternative += std::log(used[other] + used[id]) - std::log(sum + used[id] * added);
      }
      const double now = std::log(used[id]) - std::log(sum);
      losses.emplace_back(used[id] / num_words * (now - alternative), id);
    }
    std::stable_sort(losses.begin(), losses.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    keep_first(std::move(kept), losses);
  }

  void keep_first(std::vector<Piece> kept, const std::vector<std::pair<double, uint32_t>>& losses) {
    const auto shrunk =
        static_cast<size_t>(options_.shrinking_factor * static_cast<double>(pieces_.size() + 1));
    const size_t wanted = std::max(most_, shrunk);
    for (const auto& [loss, id] : losses) {
      if (kept.size() + 1 == wanted) break;
      kept.push_back(std::move(pieces_[id]));
    }
    pieces_ = std::move(kept);
  }

  LearnedUnigram finish() const {
    LearnedUnigram out;
    out.scores = special_scores(out.unk_id);
    const size_t space = options_.vocab_size - out.scores.size();
    std::vector<Piece> all = required_pieces();
    // As tokenizers has it, all pieces stay where the characters alone are as many as wanted.
    for (const Piece& piece : pieces_) {
      if (is_stuck_ || piece.text == kUnknown || is_required(piece.text)) continue;
      all.push_back(piece);
      if (all.size() == space) break;
    }
    std::stable_sort(all.begin(), all.end(),
                     [](const Piece& a, const Piece& b) { return a.score > b.score; });
    for (Piece& piece : all) out.scores.emplace_back(std::move(piece.text), piece.score);
    return out;
  }

  Unigram::Scores special_scores(uint32_t& unk_id) const {
    Unigram::Scores out;
    const auto& specials = options_.special_tokens;
    const auto unk = std::find(specials.begin(), specials.end(), options_.unk_token);
    if (unk == specials.end()) out.emplace_back(options_.unk_token, 0);
    for (const std::string& token : specials) out.emplace_back(token, 0);
    unk_id = static_cast<uint32_t>(unk == specials.end() ? 0 : unk - specials.begin());
    if (options_.vocab_size < out.size()) {
      throw Error(Code::kArgument, cat("train_new_from_iterator: vocab_size ", options_.vocab_size,
                                       " is less than the ", out.size(), " special tokens"));
    }
    return out;
  }

  // A character that is not a piece gets a score a little above the lowest one.
  std::vector<Piece> required_pieces() const {
    std::unordered_map<std::string_view, double> scores;
    for (const Piece& piece : pieces_) scores.emplace(piece.text, piece.score);
    const double lowest = pieces_.empty() ? 0 : Lattice(pieces_).lowest_score();
    double above = 0;
    std::vector<Piece> out;
    for (const char32_t c : required_) {
      std::string text = to_utf8(c);
      const auto found = scores.find(text);
      out.push_back({std::move(text), found == scores.end() ? lowest + above : found->second});
      if (found == scores.end()) above += kMissingStep;
    }
    return out;
  }

  bool is_required(std::string_view text) const {
    const Character first = character_at(text, 0);
    return first.bytes == text.size() && required_.contains(first.code);
  }

  const Words& words_;
  const UnigramTrainerOptions& options_;
  const size_t most_;            // pieces before the last step
  std::set<char32_t> required_;  // characters
  std::vector<Piece> pieces_;
  bool is_stuck_ = false;  // the texts have more characters than pieces are wanted
};

}  // namespace

LearnedUnigram train_unigram(const Words& words, const UnigramTrainerOptions& options) {
  return UnigramTraining(words, options).run();
}

}  // namespace rtrain::text
