// host/text/models/bpe.h: byte-pair encoding.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "host/text/models/merge_table.h"
#include "host/text/models/model.h"

namespace rtrain::text {

struct BpeOptions {
  double dropout = 0;
  std::optional<std::string> unk_token;
  std::string continuing_subword_prefix;
  std::string end_of_word_suffix;
  bool fuse_unk = false;
  bool byte_fallback = false;
  bool ignore_merges = false;
};

class Bpe final : public Model {
 public:
  using Merges = std::vector<std::pair<std::string, std::string>>;

  // Throws Error(kArgument) for a merge of tokens, or to a token, that the vocabulary lacks.
  Bpe(Vocabulary vocabulary, const Merges& merges, BpeOptions options);
  static std::unique_ptr<Bpe> from_value(const Value& component);

  void tokenize(std::string_view piece, std::vector<Token>& out) const override;
  const Vocabulary& vocabulary() const override { return vocabulary_; }
  Value to_value() const override;

  const MergeTable& merges() const { return table_; }
  const BpeOptions& options() const { return options_; }

 private:
  class Word;
  void add_tokens(const Symbols& symbols, std::vector<Token>& out) const;

  Vocabulary vocabulary_;
  std::vector<std::pair<uint32_t, uint32_t>> pairs_;  // by rank
  MergeTable table_;
  BpeOptions options_;
  std::optional<uint32_t> unk_id_;
};

}  // namespace rtrain::text
