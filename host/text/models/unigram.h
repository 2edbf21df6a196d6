// host/text/models/unigram.h: the tokens with the largest sum of scores.
#pragma once

#include <optional>
#include <utility>

#include "host/text/models/byte_trie.h"
#include "host/text/models/model.h"

namespace rtrain::text {

class Unigram final : public Model {
 public:
  using Scores = std::vector<std::pair<std::string, double>>;  // by id

  Unigram(Scores scores, std::optional<uint32_t> unk_id, bool byte_fallback);
  static std::unique_ptr<Unigram> from_value(const Value& component);

  void tokenize(std::string_view piece, std::vector<Token>& out) const override;
  const Vocabulary& vocabulary() const override { return vocabulary_; }
  Value to_value() const override;

 private:
  struct Node;
  std::vector<Node> best_paths(std::string_view piece) const;
  void add(std::string_view part, uint32_t begin, std::vector<Token>& out) const;
  uint32_t unk_id() const;

  Vocabulary vocabulary_;
  std::vector<double> scores_;
  std::vector<std::string> tokens_;  // also those that stand there twice
  std::optional<uint32_t> unk_id_;
  bool byte_fallback_;
  double unk_score_;
  ByteTrie trie_;
};

}  // namespace rtrain::text
