#include "host/text/trainers/unigram_trainer.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <unordered_map>

#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/text/models/byte_trie.h"
#include "host/text/unicode/characters.h"

namespace rtrain::text {
namespace {

using Words = std::vector<std::pair<std::string, uint64_t>>;

constexpr double kNone = -std::numeric_limits<double>::infinity();
constexpr double kExpectedAtLeast = 0.5;
constexpr size_t kMostParts = 50'000'000;

double digamma(double x) {
  double out = 0;
  for (; x < 7; x += 1) out -= 1 / x;
  x -= 0.5;
  const double squared = 1 / (x * x);
  return out + std::log(x) + squared * (1.0 / 24 - squared * (7.0 / 960 - squared * 31.0 / 8064));
}

double log_sum(double a, double b) {
  if (a == kNone) return b;
  if (b == kNone) return a;
  return std::max(a, b) + std::log1p(std::exp(-std::abs(a - b)));
}

struct Piece {
  std::string text;
  double score = 0;
};

// Positions between characters of a word, in bytes.
std::vector<uint32_t> bounds_of(std::string_view word) {
  std::vector<uint32_t> out{0};
  for (uint32_t at = 0; at < word.size();) {
    at += bytes_of_first(static_cast<unsigned char>(word[at]));
    out.push_back(at);
  }
  return out;
}

// All ways to cut a word into pieces: for each piece its place and id.
struct Edge {
  uint32_t begin, end, id;
};

class UnigramTraining {
 public:
  UnigramTraining(const Words& words, const UnigramTrainerOptions& options)
      : words_(words), options_(options) {}

  LearnedUnigram run() {
    make_seed();
    const size_t wanted = options_.vocab_size * 11 / 10;
    while (true) {
      for (size_t i = 0; i < options_.n_sub_iterations; ++i) maximize(expectations());
      if (pieces_.size() <= wanted) break;
      const size_t before = pieces_.size();
      prune(wanted);
      if (pieces_.size() == before) break;
    }
    return finish();
  }

 private:
  void make_seed() {
    std::unordered_map<std::string, uint64_t> parts;
    for (const auto& [word, count] : words_) {
      const std::vector<uint32_t> bounds = bounds_of(word);
      for (size_t i = 0; i + 1 < bounds.size(); ++i) {
        characters_[word.substr(bounds[i], bounds[i + 1] - bounds[i])] += count;
        for (size_t length = 2; length <= options_.max_piece_length; ++length) {
          if (i + length >= bounds.size()) break;
          parts[word.substr(bounds[i], bounds[i + length] - bounds[i])] += count;
        }
      }
      if (parts.size() > kMostParts) {
        throw Error(Code::kArgument,
                    "the texts have too many different parts of words to learn a "
                    "Unigram: give fewer texts, or a smaller max_piece_length");
      }
    }
    std::vector<std::pair<double, std::string>> ranked;
    for (auto& [part, count] : parts) {
      if (count < 2) continue;
      ranked.emplace_back(-static_cast<double>(count * count_characters(part)), part);
    }
    std::sort(ranked.begin(), ranked.end());
    const size_t space = options_.seed_size - std::min(options_.seed_size, characters_.size());
    if (ranked.size() > space) ranked.resize(space);
    double sum = 0;
    for (const auto& [character, count] : characters_) {
      pieces_.push_back({character, static_cast<double>(count)});
      sum += static_cast<double>(count);
    }
    for (auto& [score, part] : ranked) {
      pieces_.push_back({std::move(part), -score});
      sum -= score;
    }
    for (Piece& piece : pieces_) piece.score = std::log(piece.score) - std::log(sum);
    index();
  }

  void index() {
    trie_ = ByteTrie();
    for (uint32_t id = 0; id < pieces_.size(); ++id) trie_.add(pieces_[id].text, id);
  }

  void edges_of(std::string_view word, std::vector<Edge>& out) const {
    out.clear();
    for (uint32_t at = 0; at < word.size();) {
      trie_.each_prefix(word.substr(at), [&](size_t length, uint32_t id) {
        out.push_back({at, at + static_cast<uint32_t>(length), id});
      });
      at += bytes_of_first(static_cast<unsigned char>(word[at]));
    }
  }

  // How often each piece is expected to be used.
  std::vector<double> expectations() const {
    std::vector<double> out(pieces_.size(), 0), ahead, behind;
    std::vector<Edge> edges;
    for (const auto& [word, count] : words_) {
      edges_of(word, edges);
      ahead.assign(word.size() + 1, kNone);
      behind.assign(word.size() + 1, kNone);
      ahead[0] = behind[word.size()] = 0;
      // Edges are sorted by where they begin.
      for (const Edge& e : edges) {
        ahead[e.end] = log_sum(ahead[e.end], ahead[e.begin] + pieces_[e.id].score);
      }
      for (auto e = edges.rbegin(); e != edges.rend(); ++e) {
        behind[e->begin] = log_sum(behind[e->begin], behind[e->end] + pieces_[e->id].score);
      }
      const double all = ahead[word.size()];
      if (all == kNone) continue;
      for (const Edge& e : edges) {
        const double path = ahead[e.begin] + pieces_[e.id].score + behind[e.end] - all;
        out[e.id] += static_cast<double>(count) * std::exp(path);
      }
    }
    return out;
  }

  bool is_character(const Piece& piece) const { return characters_.contains(piece.text); }

  void maximize(const std::vector<double>& expected) {
    std::vector<Piece> kept;
    double sum = 0;
    for (size_t id = 0; id < pieces_.size(); ++id) {
      const bool stays = expected[id] >= kExpectedAtLeast || is_character(pieces_[id]);
      if (!stays) continue;
      const double count = std::max(expected[id], kExpectedAtLeast);
      kept.push_back({std::move(pieces_[id].text), digamma(count)});
      sum += count;
    }
    const double total = digamma(sum);
    for (Piece& piece : kept) piece.score -= total;
    pieces_ = std::move(kept);
    index();
  }

  // The best way to cut a text, without the piece `without`.
  std::vector<uint32_t> best_path(std::string_view text, uint32_t without,
                                  std::vector<Edge>& edges) const {
    edges_of(text, edges);
    std::vector<double> best(text.size() + 1, kNone);
    std::vector<const Edge*> from(text.size() + 1, nullptr);
    best[0] = 0;
    for (const Edge& e : edges) {
      if (e.id == without || best[e.begin] == kNone) continue;
      const double score = best[e.begin] + pieces_[e.id].score;
      if (score > best[e.end]) {
        best[e.end] = score;
        from[e.end] = &e;
      }
    }
    std::vector<uint32_t> out;
    for (size_t at = text.size(); at > 0 && from[at] != nullptr; at = from[at]->begin) {
      out.push_back(from[at]->id);
    }
    return out;
  }

  // Leaves out the pieces whose loss makes the texts least unlikely.
  void prune(size_t wanted) {
    constexpr auto kAll = std::numeric_limits<uint32_t>::max();
    std::vector<Edge> edges;
    std::vector<double> used(pieces_.size(), 0);
    double sum = 0;
    for (const auto& [word, count] : words_) {
      for (const uint32_t id : best_path(word, kAll, edges)) {
        used[id] += static_cast<double>(count);
        sum += static_cast<double>(count);
      }
    }
    std::vector<std::pair<double, uint32_t>> losses;
    for (uint32_t id = 0; id < pieces_.size(); ++id) {
      const std::vector<uint32_t> instead = best_path(pieces_[id].text, id, edges);
      if (is_character(pieces_[id]) || instead.empty()) {
        losses.emplace_back(kNone, id);  // stays
      } else if (used[id] > 0) {
        const double more = sum + used[id] * (static_cast<double>(instead.size()) - 1);
        double alternative = 0;
        for (const uint32_t other : instead) {
          alternative += std::log(used[other] + used[id]) - std::log(more);
        }
        const double loss = used[id] / sum * (std::log(used[id] / sum) - alternative);
        losses.emplace_back(-loss, id);
      }
    }
    std::sort(losses.begin(), losses.end());
    const auto shrunk =
        static_cast<size_t>(options_.shrinking_factor * static_cast<double>(pieces_.size()));
    losses.resize(std::min(losses.size(), std::max(wanted, shrunk)));
    std::sort(losses.begin(), losses.end(),
              [](const auto& a, const auto& b) { return a.second < b.second; });
    std::vector<Piece> kept;
    for (const auto& [loss, id] : losses) kept.push_back(std::move(pieces_[id]));
    pieces_ = std::move(kept);
    index();
  }

  LearnedUnigram finish() {
    LearnedUnigram out;
    const auto& specials = options_.special_tokens;
    const auto unk = std::find(specials.begin(), specials.end(), options_.unk_token);
    if (unk == specials.end()) out.scores.emplace_back(options_.unk_token, 0);
    out.unk_id = static_cast<uint32_t>(unk == specials.end() ? 0 : unk - specials.begin());
    for (const std::string& token : specials) out.scores.emplace_back(token, 0);
    std::stable_sort(pieces_.begin(), pieces_.end(),
                     [](const Piece& a, const Piece& b) { return a.score > b.score; });
    const size_t space = options_.vocab_size - std::min(options_.vocab_size, out.scores.size());
    size_t characters = 0;
    for (const Piece& piece : pieces_) characters += is_character(piece) ? 1 : 0;
    size_t others = space - std::min(space, characters);
    for (Piece& piece : pieces_) {
      const bool is_special =
          std::find(specials.begin(), specials.end(), piece.text) != specials.end();
      if (is_special) continue;
      if (!is_character(piece)) {
        if (others == 0) continue;
        --others;
      }
      out.scores.emplace_back(std::move(piece.text), piece.score);
    }
    return out;
  }

  const Words& words_;
  const UnigramTrainerOptions& options_;
  std::map<std::string, uint64_t> characters_;
  std::vector<Piece> pieces_;
  ByteTrie trie_;
};

}  // namespace

LearnedUnigram train_unigram(const Words& words, const UnigramTrainerOptions& options) {
  return UnigramTraining(words, options).run();
}

}  // namespace rtrain::text
