#include "host/text/models/unigram.h"

#include <algorithm>
#include <limits>

#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/text/fields/fields.h"
#include "host/text/unicode/characters.h"

namespace rtrain::text {
namespace {

constexpr double kUnknownPenalty = 10.0;

}  // namespace

struct Unigram::Node {
  double score = 0;
  uint32_t id = 0;
  int64_t begin = -1;  // of the token that ends here; -1: no path leads here yet
};

Unigram::Unigram(Scores scores, std::optional<uint32_t> unk_id, bool byte_fallback)
    : unk_id_(unk_id), byte_fallback_(byte_fallback) {
  double lowest = std::numeric_limits<double>::infinity();
  for (uint32_t id = 0; id < scores.size(); ++id) {
    auto& [token, score] = scores[id];
    vocabulary_.add(token, id);
    if (!token.empty()) trie_.add(token, id);
    scores_.push_back(score);
    tokens_.push_back(std::move(token));
    lowest = std::min(lowest, score);
  }
  unk_score_ = lowest - kUnknownPenalty;
  if (unk_id_ && *unk_id_ >= scores_.size()) {
    throw Error(Code::kArgument, cat("model: unk_id ", *unk_id_, " is larger than the vocabulary"));
  }
}

std::unique_ptr<Unigram> Unigram::from_value(const Value& component) {
  const Fields fields(component, "model");
  const List& list = fields.list("vocab");
  if (list.size() > kMostTokens) {
    throw Error(Code::kArgument, cat("model: a vocabulary of ", list.size(), " tokens; at most ",
                                     kMostTokens, " are read"));
  }
  Scores scores;
  scores.reserve(list.size());
  for (const Value& entry : list) {
    const bool is_pair = entry.is_list() && entry.as_list().size() == 2 &&
                         entry.as_list()[0].is_string() && entry.as_list()[1].is_number();
    if (!is_pair) {
      throw Error(Code::kArgument,
                  cat("model: 'vocab': entry ", scores.size(), " is not a token and its score"));
    }
    scores.emplace_back(entry.as_list()[0].as_string(), entry.as_list()[1].as_float());
  }
  std::optional<uint32_t> unk_id;
  if (fields.find("unk_id") != nullptr) unk_id = fields.count("unk_id");
  return std::make_unique<Unigram>(std::move(scores), unk_id,
                                   fields.boolean("byte_fallback", false));
}

uint32_t Unigram::unk_id() const {
  if (!unk_id_) {
    throw Error(Code::kArgument, "model: a part of the text is unknown, and there is no unk_id");
  }
  return *unk_id_;
}

std::vector<Unigram::Node> Unigram::best_paths(std::string_view piece) const {
  std::vector<Node> nodes(piece.size() + 1);
  for (size_t begin = 0; begin < piece.size();) {
    const double so_far = nodes[begin].score;
    const size_t bytes = bytes_of_first(static_cast<unsigned char>(piece[begin]));
    const auto reach = [&](size_t length, uint32_t id, double score) {
      Node& node = nodes[begin + length];
      if (node.begin < 0 || so_far + score > node.score) {
        node = {so_far + score, id, static_cast<int64_t>(begin)};
      }
    };
    bool has_single = false;
    trie_.each_prefix(piece.substr(begin), [&](size_t length, uint32_t id) {
      reach(length, id, scores_[id]);
      has_single |= length == bytes;
    });
    if (!has_single) reach(bytes, unk_id(), unk_score_);
    begin += bytes;
  }
  return nodes;
}

void Unigram::add(std::string_view part, uint32_t begin, std::vector<Token>& out) const {
  const Range range{begin, begin + static_cast<uint32_t>(part.size())};
  if (const auto id = vocabulary_.id_of(part)) {
    out.push_back({*id, std::string(part), range});
    return;
  }
  if (byte_fallback_) {
    std::vector<Token> bytes;
    for (const char c : part) {
      const std::string token = byte_token(static_cast<unsigned char>(c));
      const auto id = vocabulary_.id_of(token);
      if (!id) break;
      bytes.push_back({*id, token, range});
    }
    if (bytes.size() == part.size()) {
      out.insert(out.end(), bytes.begin(), bytes.end());
      return;
    }
  }
  out.push_back({unk_id(), std::string(part), range});
}

void Unigram::tokenize(std::string_view piece, std::vector<Token>& out) const {
  if (piece.empty()) return;
  const std::vector<Node> nodes = best_paths(piece);
  std::vector<Range> parts;  // from the end
  bool was_unknown = false;
  for (auto end = static_cast<int64_t>(piece.size()); end > 0;) {
    const Node& node = nodes[static_cast<size_t>(end)];
    const bool is_unknown = unk_id_ && node.id == *unk_id_;
    if (is_unknown && was_unknown) {
      parts.back().begin = static_cast<uint32_t>(node.begin);
    } else {
      parts.push_back({static_cast<uint32_t>(node.begin), static_cast<uint32_t>(end)});
    }
    was_unknown = is_unknown;
    end = node.begin;
  }
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
    add(piece.substr(part->begin, part->end - part->begin), part->begin, out);
  }
}

Value Unigram::to_value() const {
  List vocab;
  vocab.reserve(tokens_.size());
  for (size_t id = 0; id < tokens_.size(); ++id) vocab.push_back(List{tokens_[id], scores_[id]});
  return Map{{"type", "Unigram"},
             {"unk_id", unk_id_ ? Value(*unk_id_) : Value()},
             {"vocab", std::move(vocab)},
             {"byte_fallback", byte_fallback_}};
}

}  // namespace rtrain::text
